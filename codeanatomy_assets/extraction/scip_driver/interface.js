'use strict';
// What a file offers to others, name by name: its module-level names and the members of every class in it,
// nested and local ones included, each with a fingerprint of its declarations and type.

const crypto = require('crypto');
const { ClassFlags, DECLARATION_NAMES, DeclarationType, NodeType, TokenType, TypeCategory, TypeFlags } = require('./kinds');
const { Places } = require('./places');
const { TypeText, isOfRepository, scopePath } = require('./type_text');

// `type`, `match` and `case` are names as well as keywords.
const WORD_TOKENS = new Set([TokenType.Identifier, TokenType.Keyword, TokenType.String]);
// As the waves call what asks for members by position.
const CLASS_PATTERNS = 'match case';
const SETTING_COMMENTS = new WeakMap();
const IMPORTING = new Set([NodeType.ImportAs, NodeType.ImportFromAs, NodeType.ModuleName]);
const LAYOUT_TOKENS = new Set([TokenType.NewLine, TokenType.Indent, TokenType.Dedent]);
const PROTOCOL = 'typing.Protocol';
// Locals are numbered as they are met.
const LOCAL = /^local \d+$/;
const WORD = /[\p{L}_][\p{L}\p{N}\p{M}_]*/gu;

class InterfaceReader {
  constructor(bundle, indexed, { sourceFile, evaluator, visitor }) {
    this.bundle = bundle;
    this.indexed = indexed;
    this.sourceFile = sourceFile;
    this.evaluator = evaluator;
    this.visitor = visitor;
    this.file = sourceFile.getFilePath();
    this.entries = new Map();
    this.openBodies = [];
    this.readClasses = new Set();
    this.statedClasses = new Map();
    this.places = new Places(bundle, indexed);
    this.types = new TypeText(bundle, evaluator, this.file, this.places, (node) => this.openBody(node));
  }

  // Sorted by path: [{path, kind, fingerprint, is_return_inferred, is_open, is_cut, is_noreturn, mentions, reaches, mro}]
  read() {
    this.readModule();
    const stated = this.visitor.classNodes.map((node) => [node, this.evaluator.getTypeOfClass(node)]).filter(([, type]) => type);
    stated.forEach(([node, type]) => this.statedClasses.set(type.classType.details, scopePath(node)));
    stated.forEach(([node, type]) => this.readClass(scopePath(node), type.classType));
    for (const [name, symbol] of this.sourceFile.getModuleSymbolTable() || []) {
      this.readSymbol(name, symbol);
    }
    return [...this.entries.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  readModule() {
    const tree = this.sourceFile.getParseResults().parseTree;
    const info = this.bundle.analyzerNodeInfo.getFileInfo(tree);
    this.add('<module>', 'module', JSON.stringify([info.moduleName, info.isStubFile, info.isInPyTypedPackage]));
    const all = this.bundle.analyzerNodeInfo.getDunderAllInfo(tree);
    if (all) {
      this.add('<all>', 'all', JSON.stringify([[...all.names].sort(), all.usesUnsupportedDunderAllForm]));
    }
  }

  readSymbol(path, symbol) {
    const declarations = symbol.getDeclarations();
    if (declarations.length > 0 && declarations.every((declaration) => declaration.type === DeclarationType.Intrinsic)) {
      return;
    }
    this.types.start();
    this.openBodies = [];
    const type = this.evaluator.getEffectiveTypeOfSymbol(symbol);
    const text = [symbol._flags, this.types.of(type), ...declarations.map((each) => this.declarationText(symbol, each))];
    const kinds = [...new Set(declarations.map((declaration) => DECLARATION_NAMES[declaration.type]))].sort();
    const isInferred = (declaration) => declaration.node.nodeType === NodeType.Function && !declaration.node.returnTypeAnnotation;
    this.add(path, kinds.join('+') || 'synthesized', JSON.stringify(text), {
      is_return_inferred: declarations.some((declaration) => declaration.node && isInferred(declaration)),
      is_open: this.openBodies.length > 0,
      is_cut: this.types.isCut,
      is_noreturn: this.types.neverReturns,
      mentions: this.mentions(),
      reaches: [...this.types.reaches].sort(),
    });
    const isNamed = type.category === TypeCategory.Class && !(type.flags & TypeFlags.Instance);
    const met = [...this.types.classes];
    if (isNamed && this.isClassMadeHere(type)) {
      this.readClass(path, type);
    }
    this.readMadeClasses(path, met);
  }

  readMadeClasses(path, met) {
    met.filter((type) => this.isClassMadeHere(type)).forEach((type) => this.readClass(`${path}.<made>.${type.details.name}`, type));
  }

  // namedtuple("Point", "x y") and its like make a class without a class statement, perhaps without a name.
  isClassMadeHere(type) {
    const { details } = type;
    const isKnown = this.readClasses.has(details) || this.statedClasses.has(details);
    return details.filePath === this.file && !(details.flags & ClassFlags.PropertyClass) && !isKnown;
  }

  readClass(path, type) {
    if (this.readClasses.has(type.details)) {
      return;
    }
    this.readClasses.add(type.details);
    this.types.start();
    const header = this.types.ofClassHeader(type);
    const own = this.freePath(`${path}.<mro>`).slice(0, -'.<mro>'.length);
    const itself = this.types.note(type.details.fullName, type.details.filePath);
    const others = [...this.types.reaches].filter((each) => each !== itself).sort();
    const marks = type.details.flags & ClassFlags.ProtocolClass ? [PROTOCOL] : [];
    this.add(`${own}.<mro>`, 'mro', header, {
      is_cut: this.types.isCut,
      reaches: [itself, ...others, ...marks],
      mro: type.details.mro.map((base) => this.mroClass(base)),
    });
    const met = [...this.types.classes];
    for (const [name, symbol] of type.details.fields) {
      this.readSymbol(`${own}.${name}`, symbol);
    }
    this.readMadeClasses(own, met);
  }

  // [path, path inside the file, full name]; of a class outside the repository the full name alone.
  mroClass(base) {
    if (base.category !== TypeCategory.Class) {
      return ['', '', '<unknown>'];
    }
    const { details } = base;
    const place = details.filePath ? this.indexed.locate(details.filePath) : '';
    if (!isOfRepository(place)) {
      return ['', '', details.fullName];
    }
    const inside = this.statedClasses.get(details) || details.fullName.slice(details.moduleName.length + 1);
    return [place, inside.replaceAll('.<locals>', ''), details.fullName];
  }

  declarationText(symbol, declaration) {
    const text = [DECLARATION_NAMES[declaration.type], this.symbolText(declaration), this.isLocal(declaration)];
    if (declaration.type === DeclarationType.Alias) {
      text.push(...this.aliasText(declaration));
    } else {
      text.push(...declarationMarks(declaration));
    }
    const inferred = this.evaluator.getInferredTypeOfDeclaration(symbol, declaration);
    text.push(inferred ? this.types.of(inferred) : '');
    return text;
  }

  // What users of a name are told it is follows from where it is declared: in a function it is a local.
  symbolText({ node }) {
    return node ? this.visitor.getScipSymbol(node).value.replace(LOCAL, 'local') : '';
  }

  isLocal({ node }) {
    return Boolean(node && this.bundle.parseTreeUtils.getEnclosingFunction(node));
  }

  aliasText(declaration) {
    const resolved = this.evaluator.resolveAliasDeclaration(declaration, true, true);
    const written = [declaration.symbolName || '', Boolean(declaration.isUnresolved)];
    if (!resolved) {
      return [...written, 'unresolved'];
    }
    const { node } = resolved;
    const isNamed = node && ((node.name && node.name.value) || (node.nodeType === NodeType.Name && node.value));
    const named = resolved.symbolName || isNamed || '';
    const place = [this.indexed.locate(resolved.path), named, this.symbolText(resolved), this.isLocal(resolved)];
    return [...written, DECLARATION_NAMES[resolved.type], ...place, ...declarationMarks(resolved)];
  }

  add(path, kind, text, flags = {}) {
    const fingerprint = digest(text);
    const standard = { is_return_inferred: false, is_open: false, is_cut: false, is_noreturn: false, mentions: [], reaches: [], mro: [] };
    const free = this.freePath(path);
    this.entries.set(free, { path: free, kind, fingerprint, ...standard, ...flags });
  }

  // Two classes of one name in one place are told apart by their order.
  freePath(path) {
    let free = path;
    for (let count = 2; this.entries.has(free); count += 1) {
      free = path.endsWith('.<mro>') ? path.replace(/\.<mro>$/, `#${count}.<mro>`) : `${path}#${count}`;
    }
    return free;
  }

  // A body sees the locals of the functions around it, and how its file asks to be read.
  openBody(inner) {
    const node = outermostFunction(inner);
    if (this.openBodies.includes(node)) {
      return '';
    }
    this.openBodies.push(node);
    const texts = [...this.settingComments(node), ...this.captured(node)];
    let imports = false;
    this.eachToken(node, (token, text) => {
      texts.push(LAYOUT_TOKENS.has(token.type) ? `${token.type}` : text);
      imports = imports || (token.type === TokenType.Keyword && text === 'import');
    });
    if (imports) {
      this.importsOf(node).forEach((file) => this.types.note('', file));
    }
    return digest(texts.join('\0'));
  }

  // A body sees a variable or import of its module as the code before the function has left it.
  captured(node) {
    const table = this.sourceOf(node).getModuleSymbolTable();
    const kinds = new Set([DeclarationType.Variable, DeclarationType.Alias]);
    const found = [];
    this.places.each(node, NodeType.Name, (name) => {
      const symbol = isRead(name) && table.get(name.value);
      if (symbol && symbol.getDeclarations().every((declaration) => kinds.has(declaration.type))) {
        found.push(`${name.value}:${this.types.of(this.evaluator.getTypeOfExpression(name).type, 1)}`);
      }
    });
    return found;
  }

  // What `# pyright:` comments of a file say: they change how all of it is evaluated. Looked for once in a parsed file.
  settingComments(node) {
    const { tokens } = this.sourceOf(node).getParseResults().tokenizerOutput;
    if (!SETTING_COMMENTS.has(tokens)) {
      const found = [];
      for (let position = 0; position < tokens.count; position += 1) {
        const comments = tokens.getItemAt(position).comments || [];
        found.push(...comments.map((comment) => comment.value).filter((value) => /^\s*pyright:/.test(value)));
      }
      SETTING_COMMENTS.set(tokens, found);
    }
    return [...SETTING_COMMENTS.get(tokens)];
  }

  // The files that imports of a node's file lead to: those inside a function are no entries of their own.
  importsOf(node) {
    const found = this.sourceOf(node).getImports();
    return found.flatMap((each) => [
      ...each.resolvedPaths,
      ...[...each.filteredImplicitImports.values()].map((implicit) => implicit.path),
    ]).filter(Boolean);
  }

  sourceOf(node) {
    return this.indexed.program.getSourceFile(this.bundle.analyzerNodeInfo.getFileInfo(node).filePath);
  }

  // The words of the bodies that callers reach into, strings included: a changed one may change the answer.
  mentions() {
    const words = new Set();
    for (const node of this.openBodies) {
      const keywords = new Set();
      this.eachToken(node, (token, text) => {
        if (WORD_TOKENS.has(token.type) || text.startsWith('#')) {
          // Identifiers are compared in one normal form, and may have characters that no expression takes for letters.
          const name = text.normalize('NFKC');
          const parts = token.type === TokenType.Identifier ? [name] : [];
          [...parts, ...(name.match(WORD) || [])].forEach((word) => words.add(word));
          keywords.add(text);
        }
      });
      if (keywords.has('match') && keywords.has('case')) {
        words.add(CLASS_PATTERNS);
      }
    }
    return [...words].sort();
  }

  // The tokens of a node with their text: comments and the docstring left out, type comments kept.
  eachToken(node, visit) {
    const info = this.bundle.analyzerNodeInfo.getFileInfo(node);
    const { tokens } = this.sourceOf(node).getParseResults().tokenizerOutput;
    const end = node.start + node.length;
    const docstring = docstringStart(node);
    let isAfterDocstring = false;
    for (let position = tokens.getItemAtPosition(node.start); position < tokens.count; position += 1) {
      const token = tokens.getItemAt(position);
      if (token.start >= end) {
        break;
      }
      for (const comment of token.comments || []) {
        if (/^\s*type:/.test(comment.value)) {
          visit(token, `#${comment.value}`);
        }
      }
      const isDocstring = token.start === docstring && token.type === TokenType.String;
      if (!isDocstring && !(isAfterDocstring && token.type === TokenType.NewLine)) {
        visit(token, info.fileContents.slice(token.start, token.start + token.length));
      }
      isAfterDocstring = isDocstring;
    }
  }
}

function outermostFunction(node) {
  let found = node;
  for (let outer = node.parent; outer; outer = outer.parent) {
    found = outer.nodeType === NodeType.Function ? outer : found;
  }
  return found;
}

// Whether a name is asked for by itself: not after a dot, before `=` in a call, or as a part of an import.
function isRead({ parent, start }) {
  const isMember = parent.nodeType === NodeType.MemberAccess && parent.memberName.start === start;
  const isKeyword = parent.nodeType === NodeType.Argument && parent.name && parent.name.start === start;
  return !isMember && !isKeyword && !IMPORTING.has(parent.nodeType);
}

function declarationMarks(declaration) {
  return [
    Boolean(declaration.isFinal),
    Boolean(declaration.isConstant),
    Boolean(declaration.isDefinedByMemberAccess),
    Boolean(declaration.typeAnnotationNode),
    Boolean(declaration.isInExceptSuite),
    Boolean(declaration.typeAliasName),
    Boolean(declaration.isDefinedBySlots),
  ];
}

function docstringStart(node) {
  const first = node.suite && node.suite.statements[0];
  const statement = first && first.statements && first.statements[0];
  return statement && statement.strings ? statement.start : -1;
}

function digest(text) {
  return crypto.createHash('sha256').update(text).digest('hex').slice(0, 32);
}

module.exports = { InterfaceReader };
