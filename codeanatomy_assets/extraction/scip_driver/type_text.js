'use strict';
// A type written out in full names: equal text means that users of the type can't tell the difference.
// Classes are named, not opened, because their members are interface entries of their own; `reaches` are the
// classes and files of the repository that were named.

const { ClassFlags, FunctionFlags, NodeType, TypeCategory, TypeFlags } = require('./kinds');

const DEEPEST = 16;
const MOST_PARTS = 3000;
const CUT = '<cut>';
// How a type parameter varies follows from its uses.
const AUTOMATIC = 0;
// A package beside the repository and the standard library, by its first name.
const OUTSIDE = /^<(?:site-packages>|typeshed>\/stubs\/[^/]+)\/([^/]+?)(?:-stubs)?(?:\.pyi?)?(?:\/|$)/;
const PROPERTY_ACCESSORS = ['fget', 'fset', 'fdel'];
const USES = TypeFlags.Instantiable | TypeFlags.Instance | TypeFlags.SpecialForm;

class TypeText {
  // For the entries of one file. openBody(functionNode) is called for each function whose body a caller's arguments
  // can reach into.
  constructor(bundle, evaluator, file, places, openBody) {
    this.bundle = bundle;
    this.evaluator = evaluator;
    this.file = file;
    this.places = places;
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
    this.opened = new Set();
  }

  locate(file) {
    return this.places.indexed.locate(file);
  }

  // A class by its full name and file, a file by its path alone.
  note(fullName, file) {
    const place = file ? this.locate(file) : '';
    const outside = OUTSIDE.exec(place);
    if (isOfRepository(place)) {
      this.reaches.add(`${fullName}@${place}`);
    } else if (outside) {
      this.reaches.add(`<outside> ${outside[1]}`);
    }
    return `${fullName}@${place}`;
  }

  of(type, depth = 0) {
    if (!type) {
      return '?';
    }
    const alias = depth === 0 && type.typeAliasInfo;
    // A class or its instances, a form that only annotations take, the class of a class.
    const use = `'${type.flags & USES}${type.instantiableNestingLevel || ''}`;
    return this.plain(type, depth) + use + (alias && alias.typeParameters ? ` by <${this.all(alias.typeParameters, depth)}>` : '');
  }

  plain(type, depth) {
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
        // In their order: a name is looked up in the first of them.
        return `union(${type.subtypes.map((subtype) => this.of(subtype, depth + 1)).join('|')})`;
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
    const bound = type.boundToType ? ` of ${this.of(type.boundToType, depth + 1)}` : '';
    if (details.declaration && !specialized && this.isExternal(details.declaration.path)) {
      this.note('', details.declaration.path);
      return `def ${details.fullName}@${this.locate(details.declaration.path)}#${details.parameters.length}${bound}`;
    }
    const standards = (specialized && specialized.parameterDefaultArgs) || [];
    const parameters = details.parameters.map((parameter, position) => {
      const parameterType = specialized ? specialized.parameterTypes[position] : parameter.type;
      const standard = parameter.hasDefault ? `=${this.of(standards[position] || parameter.defaultType, depth + 1)}` : '';
      const declared = parameter.hasDeclaredType ? '!' : '';
      return `${parameter.category}${parameter.name || ''}${declared}:${this.of(parameterType, depth + 1)}${standard}`;
    });
    const where = details.declaration ? this.locate(details.declaration.path) : '';
    const flags = details.flags & ~FunctionFlags.PartiallyEvaluated;
    const paramSpec = details.paramSpec ? `**${this.of(details.paramSpec, depth + 1)}` : '';
    const inside = details.declaration ? scopePath(details.declaration.node) : '';
    const name = `${details.fullName}@${where}:${inside}#${flags}`;
    const makes = details.decoratorDataClassBehaviors ? ` makes ${behaviours(details.decoratorDataClassBehaviors)}` : '';
    return `def ${name}(${parameters.join(',')}${paramSpec})->${this.returned(type, depth)}${makes}${bound}`;
  }

  returned(type, depth) {
    const declared = (type.specializedTypes && type.specializedTypes.returnType) || type.details.declaredReturnType;
    const returnType = declared || this.evaluator.getFunctionInferredReturnType(type);
    const text = this.of(returnType, depth + 1);
    if (depth === 0 && returnType.category === TypeCategory.Never) {
      this.neverReturns = true;
    }
    // Decorators, expected types and code after a call that never returns ask whether it is declared.
    const mark = type.details.declaredReturnType ? '!' : '';
    return declared ? mark + text : text + this.body(type, returnType);
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
    parts.push(this.whichClass(type, depth), type.includeSubclasses ? 'or below' : '', type.aliasName || '');
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
      parts.push(`guards ${type.isStrictTypeGuard ? '!' : ''}${this.of(type.typeGuardType, depth + 1)}`);
    }
    if (type.typedDictNarrowedEntries) {
      const narrowed = [...type.typedDictNarrowedEntries].map(([name, entry]) => `${name}${Number(entry.isProvided)}`);
      parts.push(`with ${narrowed.sort().join(',')}`);
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

  // Of classes that share a full name the text says which. One without a class statement has no entries of its own
  // in the files that meet it: there its fields are written out.
  whichClass(type, depth) {
    const { details } = type;
    const places = details.filePath && isOfRepository(this.locate(details.filePath)) ? this.places.ofClass(details) : undefined;
    if (!places || details.flags & ClassFlags.PropertyClass) {
      return '';
    }
    const place = places.indexOf(details.typeVarScopeId);
    if (place >= 0) {
      return places.length > 1 ? `#${place}` : '';
    }
    if (details.filePath === this.file || this.opened.has(details)) {
      return '';
    }
    this.opened.add(details);
    const bases = details.mro.slice(1).map((base) => this.of(base, depth + 1));
    return `made(${bases}${this.fieldTypes(details, [...details.fields.keys()], depth)})`;
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
      const order = (details.recursiveTypeParameters || []).map((parameter) => parameter.details.name);
      const written = type.typeAliasInfo ? `[${this.all(type.typeAliasInfo.typeArguments, depth)}]` : '';
      return `alias ${details.recursiveTypeAliasName}<${order}>${written}${isKnown ? '' : `{${this.of(details.boundType, depth + 1)}}`}`;
    }
    const marks = [details.isParamSpec, details.isVariadic, details.isSynthesizedSelf, details.declaredVariance].map(Number);
    const limits = [details.boundType, details.defaultType, ...details.constraints].map((limit) => this.of(limit, depth + 1));
    const unpacked = `${type.isVariadicUnpacked ? '*' : ''}${type.isVariadicInUnion ? '|' : ''}`;
    const use = `${type.scopeName || ''}${type.paramSpecAccess || ''}${unpacked}${isInstance(type) ? '' : ' class'}`;
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

  // Enumerations are expanded and dictionaries with types compared member by member, none of them named; and from all
  // members together it follows how type parameters vary that do not say it.
  allFields(details) {
    const isInferred = details.typeParameters.some((parameter) => parameter.details.declaredVariance === AUTOMATIC);
    const isWhole = isInferred || details.flags & (ClassFlags.EnumClass | ClassFlags.TypedDictClass);
    // A protocol is compared in the order of its members.
    const names = details.flags & ClassFlags.ProtocolClass ? [...details.fields.keys()].join(',') : '';
    return isWhole ? this.fieldTypes(details, [...details.fields.keys()], 1) : names;
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

function isOfRepository(place) {
  return Boolean(place) && !place.startsWith('<') && !place.startsWith('/');
}

function isInstance(type) {
  return Boolean(type.flags & TypeFlags.Instance);
}

// What a decorator, base or metaclass says of the dataclasses it makes: plain values, and names of functions.
function behaviours(stated) {
  const plain = (key, value) => (value && typeof value === 'object' && value.details ? value.details.fullName : value);
  return JSON.stringify(stated || null, plain);
}

module.exports = { TypeText, isOfRepository, scopePath };
