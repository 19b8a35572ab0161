'use strict';
// A type written out in full names: equal text means that users of the type can't tell the difference.
// Classes are named, not opened, because their members are interface entries of their own; `reaches` are the
// classes and files of the repository that were named.

const { ClassFlags, FunctionFlags, NodeType, TypeCategory, TypeFlags } = require('./kinds');

const DEEPEST = 16;
const MOST_PARTS = 3000;
const CUT = '<cut>';
const PROPERTY_ACCESSORS = ['fget', 'fset', 'fdel'];

class TypeText {
  // openBody(functionNode) is called for each function whose body a caller's arguments can reach into.
  constructor(bundle, evaluator, locate, openBody) {
    this.bundle = bundle;
    this.evaluator = evaluator;
    this.locate = locate;
    this.openBody = openBody;
    this.start();
  }

  start() {
    this.parts = 0;
    this.isCut = false;
    this.neverReturns = false;
    this.reaches = new Set();
    this.classes = new Set();
    this.aliases = new Set();
  }

  // A class by its full name and file, a file by its path alone.
  note(fullName, file) {
    const place = file ? this.locate(file) : '';
    if (place && !place.startsWith('<') && !place.startsWith('/')) {
      this.reaches.add(`${fullName}@${place}`);
    }
    return `${fullName}@${place}`;
  }

  of(type, depth = 0) {
    if (!type) {
      return '?';
    }
    this.parts += 1;
    if (depth > DEEPEST || this.parts > MOST_PARTS) {
      this.isCut = true;
      return CUT;
    }
    switch (type.category) {
      case TypeCategory.Unbound:
        return 'Unbound';
      case TypeCategory.Unknown:
        return 'Unknown';
      case TypeCategory.Any:
        return 'Any';
      case TypeCategory.None:
        return isInstance(type) ? 'None' : 'type[None]';
      case TypeCategory.Never:
        return type.isNoReturn ? 'NoReturn' : 'Never';
      case TypeCategory.Function:
        return this.ofFunction(type, depth);
      case TypeCategory.OverloadedFunction:
        return `overloads[${type.overloads.map((overload) => this.of(overload, depth + 1)).join(';')}]`;
      case TypeCategory.Class:
        return this.ofClass(type, depth);
      case TypeCategory.Module:
        return this.ofModule(type, depth);
      case TypeCategory.Union:
        return `union(${type.subtypes.map((subtype) => this.of(subtype, depth + 1)).sort().join('|')})`;
      case TypeCategory.TypeVar:
        return this.ofTypeVariable(type, depth);
      default:
        throw new Error(`a type of unknown category ${type.category}`);
    }
  }

  // A function of the surroundings that no use has specialized is the same as long as they are.
  isExternal(file) {
    return this.locate(file).startsWith('<');
  }

  all(types, depth) {
    return (types || []).map((type) => this.of(type, depth + 1)).join(',');
  }

  ofFunction(type, depth) {
    const details = type.details;
    const specialized = type.specializedTypes;
    if (details.declaration && !specialized && this.isExternal(details.declaration.path)) {
      return `def ${details.fullName}@${this.locate(details.declaration.path)}#${details.parameters.length}`;
    }
    const parameters = details.parameters.map((parameter, position) => {
      const parameterType = specialized ? specialized.parameterTypes[position] : parameter.type;
      const standard = parameter.hasDefault ? `=${this.of(parameter.defaultType, depth + 1)}` : '';
      const declared = parameter.hasDeclaredType ? '!' : '';
      return `${parameter.category}${parameter.name || ''}${declared}:${this.of(parameterType, depth + 1)}${standard}`;
    });
    const where = details.declaration ? this.locate(details.declaration.path) : '';
    const flags = details.flags & ~FunctionFlags.PartiallyEvaluated;
    const paramSpec = details.paramSpec ? `**${this.of(details.paramSpec, depth + 1)}` : '';
    const inside = details.declaration ? scopePath(details.declaration.node) : '';
    const name = `${details.fullName}@${where}:${inside}#${flags}`;
    const makes = details.decoratorDataClassBehaviors ? ` makes ${behaviours(details.decoratorDataClassBehaviors)}` : '';
    return `def ${name}(${parameters.join(',')}${paramSpec})->${this.returned(type, depth)}${makes}`;
  }

  returned(type, depth) {
    const declared = (type.specializedTypes && type.specializedTypes.returnType) || type.details.declaredReturnType;
    const returnType = declared || this.evaluator.getFunctionInferredReturnType(type);
    const text = this.of(returnType, depth + 1);
    if (depth === 0 && returnType.category === TypeCategory.Never) {
      this.neverReturns = true;
    }
    return declared ? text : text + this.body(type, returnType);
  }

  // A caller's arguments are tried on the body of an unannotated function when its own inference leaves
  // something unknown: then the body itself is part of what callers see.
  body(type, returnType) {
    const { declaration, flags } = type.details;
    const isClosed = flags & (FunctionFlags.StubDefinition | FunctionFlags.PyTypedDefinition);
    const isOpen = declaration && flags & FunctionFlags.UnannotatedParams && !isClosed;
    if (!isOpen || !this.bundle.typeUtils.isPartlyUnknown(returnType)) {
      return '';
    }
    this.note('', declaration.path);
    return `{${this.openBody(declaration.node)}}`;
  }

  ofClass(type, depth) {
    const details = type.details;
    const parts = [isInstance(type) ? 'a' : 'class', this.note(details.fullName, details.filePath)];
    this.classes.add(type);
    if (type.literalValue !== undefined) {
      parts.push(`=${this.literalText(type.literalValue, depth)}`);
    }
    if (type.tupleTypeArguments) {
      const items = type.tupleTypeArguments.map((item) => this.of(item.type, depth + 1) + (item.isUnbounded ? '...' : ''));
      parts.push(`<${items.join(',')}>`);
    } else if (type.typeArguments) {
      parts.push(`[${this.all(type.typeArguments, depth)}]`);
    }
    if (type.typeGuardType) {
      parts.push(`guards ${this.of(type.typeGuardType, depth + 1)}`);
    }
    if (type.isUnpacked || type.isEmptyContainer) {
      parts.push(`${type.isUnpacked ? 'unpacked' : ''}${type.isEmptyContainer ? 'empty' : ''}`);
    }
    if (details.flags & ClassFlags.PropertyClass) {
      parts.push(this.fieldTypes(details, PROPERTY_ACCESSORS, depth));
    } else if (details.fullName === 'functools.partial') {
      parts.push(this.fieldTypes(details, ['__call__'], depth));
    }
    return parts.join(' ');
  }

  // Properties and partial objects are classes made for one use, with their meaning in synthesized fields.
  fieldTypes(details, names, depth) {
    const present = names.filter((name) => details.fields.has(name));
    const text = (name) => this.of(this.evaluator.getEffectiveTypeOfSymbol(details.fields.get(name)), depth + 1);
    return `{${present.map((name) => `${name}:${text(name)}`).join(',')}}`;
  }

  ofModule(type, depth) {
    const submodules = [...type.loaderFields.keys()].sort();
    const symbolType = (name) => this.evaluator.getEffectiveTypeOfSymbol(type.loaderFields.get(name));
    const loaded = submodules.map((name) => `${name}:${this.of(symbolType(name), depth + 1)}`);
    this.note('', type.filePath);
    return `module ${type.moduleName}@${this.locate(type.filePath || '')}{${loaded.join(',')}}`;
  }

  ofTypeVariable(type, depth) {
    const details = type.details;
    if (details.recursiveTypeAliasName) {
      const isKnown = this.aliases.has(details);
      this.aliases.add(details);
      return `alias ${details.recursiveTypeAliasName}${isKnown ? '' : `{${this.of(details.boundType, depth + 1)}}`}`;
    }
    const marks = [details.isParamSpec, details.isVariadic, details.isSynthesizedSelf, details.declaredVariance].map(Number);
    const limits = [details.boundType, details.defaultType, ...details.constraints].map((limit) => this.of(limit, depth + 1));
    const use = `${type.scopeName || ''}${type.paramSpecAccess || ''}${isInstance(type) ? '' : ' class'}`;
    return `~${details.name}#${marks.join('')} of ${use}(${limits.join(',')})`;
  }

  // What a class hands down without being named: order of lookup, metaclass, generated behaviour.
  ofClassHeader(type) {
    const details = type.details;
    const entries = (details.dataClassEntries || []).map((entry) => [
      entry.name,
      Boolean(entry.hasDefault),
      Boolean(entry.includeInInit),
      Boolean(entry.isKeywordOnly),
      entry.alias || '',
      this.of(entry.type, 1),
    ]);
    return JSON.stringify([
      details.flags & ~ClassFlags.PartiallyEvaluated,
      details.mro.map((base) => this.of(base, 1)),
      this.of(details.effectiveMetaclass, 1),
      details.typeParameters.map((parameter) => this.of(parameter, 1)),
      entries,
      details.localSlotsNames || [],
      [details.dataClassBehaviors, details.classDataClassTransform].map(behaviours),
      this.allFields(details),
    ]);
  }

  // Enumerations are expanded and dictionaries with types compared member by member, none of them named.
  allFields(details) {
    const isWhole = details.flags & (ClassFlags.EnumClass | ClassFlags.TypedDictClass);
    return isWhole ? this.fieldTypes(details, [...details.fields.keys()], 1) : '';
  }

  literalText(value, depth) {
    if (typeof value === 'object') {
      return `${value.className}.${value.itemName}:${this.of(value.itemType, depth + 1)}`;
    }
    return `${typeof value}:${String(value)}`;
  }
}

// Where a class or function stands in its file: `f.<locals>.C`.
function scopePath(node) {
  const names = node.name ? [node.name.value] : [];
  for (let outer = node.parent; outer; outer = outer.parent) {
    if (outer.nodeType === NodeType.Class) {
      names.unshift(outer.name.value);
    } else if (outer.nodeType === NodeType.Function) {
      names.unshift(outer.name.value, '<locals>');
    }
  }
  return names.join('.');
}

function isInstance(type) {
  return Boolean(type.flags & TypeFlags.Instance);
}

// What a decorator, base or metaclass says of the dataclasses it makes: plain values, and names of functions.
function behaviours(stated) {
  const plain = (key, value) => (value && typeof value === 'object' && value.details ? value.details.fullName : value);
  return JSON.stringify(stated || null, plain);
}

module.exports = { TypeText, scopePath };
