'use strict';
// Numbers of the bundle's enumerations, which its build inlines: fixed by the hashes in bundle.js.

const NodeType = {
  Argument: 1,
  Class: 10,
  ImportAs: 21,
  ImportFromAs: 23,
  Function: 28,
  MemberAccess: 35,
  ModuleName: 37,
  Name: 38,
  TypeParameter: 75,
  TypeAlias: 77,
};

const TokenType = { NewLine: 2, Indent: 3, Dedent: 4, String: 5, Identifier: 7, Keyword: 8 };

const DeclarationType = { Intrinsic: 0, Variable: 1, Alias: 8 };
const DECLARATION_NAMES = [
  'intrinsic',
  'variable',
  'parameter',
  'type_parameter',
  'type_alias',
  'function',
  'class',
  'class',
  'import',
];

const TypeCategory = {
  Unbound: 0,
  Unknown: 1,
  Any: 2,
  None: 3,
  Never: 4,
  Function: 5,
  OverloadedFunction: 6,
  Class: 7,
  Module: 8,
  Union: 9,
  TypeVar: 10,
};

const TypeFlags = { Instantiable: 1, Instance: 2, SpecialForm: 8 };
const ClassFlags = {
  TypedDictClass: 1 << 7,
  PropertyClass: 1 << 11,
  ProtocolClass: 1 << 13,
  PartiallyEvaluated: 1 << 17,
  EnumClass: 1 << 20,
};
const FunctionFlags = { StubDefinition: 1 << 11, PyTypedDefinition: 1 << 12, UnannotatedParams: 1 << 14, PartiallyEvaluated: 1 << 17 };

module.exports = {
  ClassFlags,
  DECLARATION_NAMES,
  DeclarationType,
  FunctionFlags,
  NodeType,
  TokenType,
  TypeCategory,
  TypeFlags,
};
