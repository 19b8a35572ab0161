'use strict';
// What stands where in a parsed file: looked for once in each.

const { NodeType } = require('./kinds');

// Parsed file → the classes in it, by full name: documents share the files that they meet.
const CLASSES = new WeakMap();

class Places {
  constructor(bundle, indexed) {
    this.bundle = bundle;
    this.indexed = indexed;
  }

  treeOf(file) {
    const source = this.indexed.program.getSourceFile(file);
    const parsed = source && source.getParseResults();
    return parsed && parsed.parseTree;
  }

  // The scopes of the class statements that have this class's full name, in order: several classes may share one.
  // Undefined for a file that is not at hand.
  ofClass(details) {
    const tree = this.treeOf(details.filePath);
    if (!tree) {
      return undefined;
    }
    if (!CLASSES.has(tree)) {
      CLASSES.set(tree, this.classesBelow(tree));
    }
    return CLASSES.get(tree).get(details.fullName) || [];
  }

  classesBelow(tree) {
    const { parseTreeUtils, analyzerNodeInfo } = this.bundle;
    const { moduleName, filePath } = analyzerNodeInfo.getFileInfo(tree);
    const found = new Map();
    this.each(tree, NodeType.Class, (node) => {
      const name = parseTreeUtils.getClassFullName(node, moduleName, node.name.value);
      // As the evaluator calls them: no other part of a class's type tells its statement.
      found.set(name, [...(found.get(name) || []), `${filePath}.${node.start}-${node.name.value}`]);
    });
    return found;
  }

  // The nodes of a kind below a node, itself included, as they are written.
  each(node, kind, visit) {
    const { ParseTreeWalker } = this.bundle.parseTreeWalker;
    const walker = new ParseTreeWalker();
    walker.visitNode = (below) => {
      if (below.nodeType === kind) {
        visit(below);
      }
      return ParseTreeWalker.prototype.visitNode.call(walker, below);
    };
    walker.walk(node);
  }
}

module.exports = { Places };
