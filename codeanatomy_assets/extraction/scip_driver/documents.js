'use strict';
// One SCIP document for one file: scip-python's own visitor, corrected where its answer depended on what
// was indexed before or named something else than the definition, and without documentation text.

const path = require('path');
const { DeclarationType, NodeType, TypeCategory } = require('./kinds');

const NO_HOVER = { parts: [] };
const NO_LINES = [];
const NO_STUBS = {
  docstrings: { get: () => NO_LINES },
  visitAssignment() {},
  visitClass() {},
  visitFunction() {},
  visitImport() {},
  walk() {},
};

function documentVisitor(bundle) {
  const { scip, symbols, analyzerNodeInfo, parseTreeUtils, typeUtils } = bundle;

  function isMissing(moduleNode) {
    const found = analyzerNodeInfo.getImportInfo(moduleNode);
    return !found || !found.isImportFound;
  }

  function isOfMissingModule({ node }) {
    if (node && node.nodeType === NodeType.ImportAs) {
      return isMissing(node.module);
    }
    return Boolean(node) && node.nodeType === NodeType.ImportFromAs && isMissing(node.parent.module);
  }

  return class DocumentVisitor extends bundle.treeVisitor.TreeVisitor {
    constructor(config, indexed) {
      super(config);
      this.indexed = indexed;
      // Without the separator a folder beside the checkout whose name starts alike would count as inside.
      this.cwd = indexed.root + path.sep;
      this._docstringWriter = NO_STUBS;
      this.classNodes = [];
      this.starLocals = new Map();
      this.missingLocals = new Map();
    }

    // The visitor states a class's bases only if nothing named the class before its definition.
    visitClass(node) {
      this.classNodes.push(node);
      const type = this.evaluator.getTypeOfClass(node);
      this.document.symbols.push(
        new scip.SymbolInformation({
          symbol: this.getScipSymbol(node).value,
          relationships: type ? this.baseRelationships(type.classType) : [],
        })
      );
      return super.visitClass(node);
    }

    baseRelationships(classType) {
      const relationships = [];
      for (const base of classType.details.baseClasses) {
        const details = base.details;
        if (!details || details.moduleName === undefined || details.filePath === undefined) {
          continue;
        }
        const owner = this.guessPackage(details.moduleName, details.filePath);
        if (owner && details.fullName !== 'builtins.object') {
          relationships.push(new scip.Relationship({ symbol: this.classSymbol(owner, details).value, is_implementation: true }));
        }
      }
      return relationships;
    }

    classSymbol(owner, details) {
      const inside = details.fullName.startsWith(details.moduleName + '.')
        ? details.fullName.slice(details.moduleName.length + 1).split('.')
        : [details.name];
      return inside.reduce((outer, name) => symbols.makeType(outer, name), symbols.makeModule(owner, details.moduleName));
    }

    // All names of a star import share the statement's node: each is resolved to what it names.
    emitDeclaration(node, decl) {
      if (decl.node && decl.type === DeclarationType.Alias && decl.node.isWildcardImport) {
        this.pushNewOccurrence(node, this.starSymbol(node, decl));
        return true;
      }
      if (decl.node && decl.node.nodeType === NodeType.ImportAs && !decl.node.alias) {
        this.pushNewOccurrence(node, this.importedModule(decl));
        return true;
      }
      return super.emitDeclaration(node, decl);
    }

    // `import a.b` binds `a`: the name alone, and not `a.b`, which the visitor takes its first use to be.
    importedModule(decl) {
      const { module } = decl.node;
      const owner = isMissing(module) ? undefined : this.moduleNameNodeToPythonPackage(module, decl);
      return owner ? symbols.makeModuleInit(owner, module.nameParts[0].value) : this.getLocalForDeclaration(decl.node);
    }

    starSymbol(node, decl) {
      const resolved = this.evaluator.resolveAliasDeclaration(decl, true, true);
      if (resolved && resolved.node && resolved.node !== decl.node && resolved.type !== DeclarationType.Alias) {
        return this.getScipSymbol(resolved.node);
      }
      const isModule = resolved && resolved.type === DeclarationType.Alias && !resolved.isUnresolved;
      const module = isModule ? this.moduleSymbol(resolved.path) : undefined;
      if (module) {
        return module;
      }
      if (!this.starLocals.has(node.value)) {
        this.starLocals.set(node.value, this.getIntrinsicSymbol(node));
      }
      return this.starLocals.get(node.value);
    }

    // The visitor passes over names called `_` and names in code that the pinned platform or version never
    // runs: they have declarations like any other. The `_` of a pattern is none: it binds and names nothing.
    visitName(node) {
      if (node.parent.isWildcard) {
        return true;
      }
      const [declaration] = this.declarationsOf(node);
      return declaration ? this.emitDeclaration(node, declaration) : this.emitNameWithoutDeclaration(node);
    }

    declarationsOf(node) {
      const reaching = this.evaluator.getDeclarationsForNameNode(node, false) || [];
      if (reaching.length > 0) {
        return reaching;
      }
      const { parent } = node;
      const isMember = parent.nodeType === NodeType.MemberAccess && parent.memberName === node;
      const isKeyword = parent.nodeType === NodeType.Argument && parent.name === node;
      if (isMember || isKeyword || parent.nodeType === NodeType.ModuleName) {
        return [];
      }
      // No assignment reaches code that never runs; a name's scope is known all the same.
      const found = this.evaluator.lookUpSymbolRecursive(node, node.value, false);
      return found ? found.symbol.getDeclarations() : [];
    }

    // What stands after a dot and has no declaration may be a module, lie in one that is not there, or be what
    // every function has.
    emitNameWithoutDeclaration(node) {
      const access = node.parent;
      if (access.nodeType !== NodeType.MemberAccess || access.memberName !== node) {
        return super.emitNameWithoutDeclaration(node);
      }
      const symbol = this.submoduleSymbol(access) || this.missingSymbol(access) || this.functionMemberSymbol(access);
      if (symbol) {
        this.pushNewOccurrence(node, symbol);
      }
      return true;
    }

    submoduleSymbol(access) {
      const type = this.evaluator.getType(access);
      return type && type.category === TypeCategory.Module ? this.moduleSymbol(type.filePath) : undefined;
    }

    moduleSymbol(file) {
      if (!path.isAbsolute(file)) {
        return undefined;
      }
      const moduleName = this.indexed.program._getImportNameForFile(file);
      const owner = this.guessPackage(moduleName, file);
      return owner && symbols.makeModuleInit(owner, moduleName);
    }

    // `m.a` of a module that can't be found is one thing throughout the file, as it is after `from m import a`.
    missingSymbol(access) {
      const names = [];
      let root = access;
      for (; root.nodeType === NodeType.MemberAccess; root = root.leftExpression) {
        names.unshift(root.memberName.value);
      }
      const [declaration] = root.nodeType === NodeType.Name ? this.declarationsOf(root) : [];
      if (!declaration || !isOfMissingModule(declaration)) {
        return undefined;
      }
      const dotted = [declaration.node.id, ...names].join('.');
      if (!this.missingLocals.has(dotted)) {
        this.missingLocals.set(dotted, this.getIntrinsicSymbol(access));
      }
      return this.missingLocals.get(dotted);
    }

    // `f.__name__` is declared by the builtins' class of functions.
    functionMemberSymbol({ leftExpression, memberName }) {
      const type = this.evaluator.getType(leftExpression);
      if (!type || (type.category !== TypeCategory.Function && type.category !== TypeCategory.OverloadedFunction)) {
        return undefined;
      }
      const functions = this.evaluator.getBuiltInType(leftExpression, 'function');
      const member = functions.category === TypeCategory.Class && typeUtils.lookUpClassMember(functions, memberName.value);
      if (!member || member.classType.category !== TypeCategory.Class) {
        return undefined;
      }
      const owner = this.classSymbol(this.stdlibPackage, member.classType.details);
      const isMethod = member.symbol.getDeclarations().some((declaration) => declaration.node.nodeType === NodeType.Function);
      return isMethod ? symbols.makeMethod(owner, memberName.value) : symbols.makeTerm(owner, memberName.value);
    }

    // An alias of a module that can't be found is that module.
    visitImportAs(node) {
      if (node.alias && isMissing(node.module)) {
        this.rawSetLsifSymbol(node.alias, this.getLocalForDeclaration(node), true);
      }
      return super.visitImportAs(node);
    }

    // The visitor knows the standard library's packages by name but not the modules in them.
    getPackageInfo(node, moduleName) {
      return super.getPackageInfo(node, moduleName) || this.guessPackage(moduleName);
    }

    // The name and its alias each mean the imported thing, not the text `a as b` between them.
    visitImportFromAs(node) {
      const symbol = this.getScipSymbol(node);
      this.pushNewOccurrence(node.name, symbol);
      if (node.alias) {
        this.pushNewOccurrence(node.alias, symbol);
      }
      return false;
    }

    // A builtin function is one thing wherever it is called, not a new local at each place.
    emitBuiltinScipSymbol(node, builtinType, decl) {
      const isFunction = builtinType && builtinType.category === TypeCategory.Function;
      if (isFunction && decl && decl.moduleName === 'builtins') {
        const symbol = symbols.makeMethod(symbols.makeModule(this.stdlibPackage, 'builtins'), node.value);
        this.pushNewOccurrence(node, symbol);
        return symbol;
      }
      return super.emitBuiltinScipSymbol(node, builtinType, decl);
    }

    // The visitor takes any name that a builtin has too for the builtin: `errors.TimeoutError`, `sys.exit`, `self.id`.
    isStdlib(decl, builtinType) {
      const isBuiltin = decl.moduleName === 'builtins' && !parseTreeUtils.getEnclosingClassOrFunction(decl.node);
      return isBuiltin && super.isStdlib(decl, builtinType);
    }

    // The visitor takes every type variable before a dot to be bound to a class, and breaks on the others;
    // of type parameters and `type` statements it knows nothing and gives them their container's symbol.
    makeScipSymbol(pythonPackage, moduleName, node) {
      if (node.nodeType === NodeType.TypeParameter) {
        return this.getIntrinsicSymbol(node);
      }
      if (node.nodeType === NodeType.TypeAlias) {
        return this.typeAliasSymbol(node);
      }
      const access = node.parent;
      if (node.nodeType === NodeType.Name && access && access.nodeType === NodeType.MemberAccess) {
        const { type } = this.evaluator.getTypeOfExpression(access.leftExpression);
        if (type.category === TypeCategory.TypeVar && !(type.details.boundType && type.details.boundType.details)) {
          const enclosing = parseTreeUtils.getEnclosingClass(node, false);
          return enclosing ? symbols.makeTerm(this.getScipSymbol(enclosing), node.value) : this.getIntrinsicSymbol(node);
        }
      }
      return super.makeScipSymbol(pythonPackage, moduleName, node);
    }

    typeAliasSymbol(node) {
      if (parseTreeUtils.getEnclosingFunction(node)) {
        return this.getIntrinsicSymbol(node);
      }
      const outer = parseTreeUtils.getEnclosingClass(node, true) || parseTreeUtils.getEnclosingModule(node);
      return symbols.makeTerm(this.getScipSymbol(outer), node.name.value);
    }

    // The definition's own symbol, not one made up from the name used here.
    typeToSymbol(_node, declNode, _type) {
      return this.getScipSymbol(declNode);
    }

    getFunctionSymbol(decl) {
      if (this.guessPackage(decl.moduleName, decl.path) === this.projectPackage) {
        return this.getScipSymbol(decl.node);
      }
      return super.getFunctionSymbol(decl);
    }

    // Names of the builtins' stub are looked up by their node there, whose position means nothing here.
    pushNewOccurrence(node, symbol, role = scip.SymbolRole.ReadAccess, decl = undefined) {
      if (symbol.value !== '' && analyzerNodeInfo.getFileInfo(node).filePath === this.fileInfo.filePath) {
        super.pushNewOccurrence(node, symbol, role, decl);
      }
    }

    emitExternalSymbolInformation() {}
  };
}

class DocumentMaker {
  constructor(bundle, indexed) {
    this.bundle = bundle;
    this.indexed = indexed;
    this.Visitor = documentVisitor(bundle);
  }

  // The document, and what the visitor met on its way that the interface needs.
  make(relative) {
    const { scip } = this.bundle;
    const indexed = this.indexed;
    const evaluator = indexed.freshEvaluator();
    const sourceFile = indexed.boundFile(indexed.absolute(relative));
    const document = new scip.Document({ relative_path: relative });
    const visitor = new this.Visitor(
      {
        document,
        externalSymbols: new Map(),
        sourceFile,
        evaluator,
        program: { getHoverForPosition: () => NO_HOVER },
        pyrightConfig: indexed.options,
        scipConfig: indexed.scipConfig,
        pythonEnvironment: indexed.packages,
        globalSymbols: new Map(),
      },
      indexed
    );
    visitor.walk(sourceFile.getParseResults().parseTree);
    for (const information of document.symbols) {
      information.documentation = [];
    }
    return { document, sourceFile, evaluator, visitor };
  }
}

module.exports = { DocumentMaker };
