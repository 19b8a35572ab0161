'use strict';
// The repository as one pyright program: kept parsed and bound across documents and updates, told of every
// changed, added and deleted file. What a document says must depend on the program's files alone, never on
// what was asked of it before: each rule here that looks fussy keeps an order from showing through.

const fs = require('fs');
const path = require('path');
const { pythonFiles, surroundings } = require('./surroundings');

// Binding follows `from m import *` and `m.__all__` into other files, and a cycle of those sees half of
// what it would see when entered elsewhere. Such files are therefore bound first, in the order of paths.
const BINDS_ACROSS_FILES = /\bimport[\s\\(]*\*|\.__all__\b/;
const BUILTINS_STUB = '__builtins__.pyi';

class CapturingConsole {
  constructor() {
    this.errors = [];
  }

  error(message) {
    this.errors.push(String(message));
  }

  warn() {}
  info() {}
  log() {}
}

class IndexedProgram {
  constructor(bundle, settings) {
    this.bundle = bundle;
    this.settings = settings;
    this.open();
  }

  open() {
    const around = surroundings(this.bundle, this.settings);
    Object.assign(this, around);
    process.chdir(this.root);
    this.console = new CapturingConsole();
    this.importResolver = new this.bundle.importResolver.ImportResolver(this.fileSystem, this.options, this.host);
    this.program = new this.bundle.program.Program(this.importResolver, this.options, this.console);
    this.files = new Set(pythonFiles(this.root));
    this.bindsAcrossFiles = new Set();
    for (const file of this.files) {
      this.program.addTrackedFile(file);
      this.noteHowItBinds(file);
    }
  }

  absolute(relative) {
    return path.join(this.root, relative);
  }

  // A path that names the same file wherever the checkout, the dependencies and the bundle lie.
  locate(file) {
    for (const [mark, folder] of [
      ['', this.root],
      ['<typeshed>/', this.options.typeshedPath],
      ['<site-packages>/', this.sitePackages],
    ]) {
      if (folder && file.startsWith(folder + path.sep)) {
        return mark + file.slice(folder.length + 1);
      }
    }
    return file;
  }

  noteHowItBinds(file) {
    if (BINDS_ACROSS_FILES.test(fs.readFileSync(file, 'utf8'))) {
      this.bindsAcrossFiles.add(file);
    } else {
      this.bindsAcrossFiles.delete(file);
    }
  }

  bindInStatedOrder() {
    for (const file of [...this.bindsAcrossFiles].sort()) {
      this.program.getBoundSourceFile(file);
    }
  }

  // Inference through cycles depends on what was asked first: a new evaluator has been asked nothing.
  freshEvaluator() {
    return this.program._createNewEvaluator();
  }

  boundFile(file) {
    const sourceFile = this.program.getBoundSourceFile(file);
    const refusal = this.console.errors.find((error) => error.includes(file));
    if (refusal !== undefined) {
      throw new Error(refusal.split('\n', 1)[0].replaceAll(this.root + path.sep, ''));
    }
    return sourceFile;
  }

  update({ changed = [], added = [], deleted = [] }) {
    const told = [...changed, ...added, ...deleted].map((relative) => this.absolute(relative));
    const hasBuiltinsStub = [...this.files, ...told].some((file) => path.basename(file) === BUILTINS_STUB);
    if (hasBuiltinsStub) {
      // Every file's scope hangs on the builtins' scope.
      this.open();
      return;
    }
    this.console.errors = this.console.errors.filter((error) => !told.some((file) => error.includes(file)));
    deleted.forEach((relative) => this.forget(this.absolute(relative)));
    added.forEach((relative) => this.adopt(this.absolute(relative)));
    if (added.length > 0 || deleted.length > 0) {
      this.importResolver.invalidateCache();
      this.resolveImportsAgain();
    }
    changed.forEach((relative) => this.noteHowItBinds(this.absolute(relative)));
    this.program.markFilesDirty(told.filter((file) => this.files.has(file)), true);
  }

  adopt(file) {
    this.files.add(file);
    this.program.addTrackedFile(file);
    this.noteHowItBinds(file);
  }

  forget(file) {
    this.files.delete(file);
    this.bindsAcrossFiles.delete(file);
    const info = this.program.getSourceFileInfo(file);
    if (!info) {
      return;
    }
    info.importedBy.forEach((importer) => importer.sourceFile.markDirty());
    this.markDependentsDirty(info);
    info.imports.forEach((imported) => {
      imported.importedBy = imported.importedBy.filter((importer) => importer !== info);
    });
    info.importedBy.forEach((importer) => {
      importer.imports = importer.imports.filter((imported) => imported !== info);
    });
    info.sourceFile.prepareForClose();
    const list = this.program._sourceFileList;
    this.program._removeSourceFileFromListAndMap(file, list.indexOf(info));
  }

  markDependentsDirty(info) {
    this.program._markFileDirtyRecursive(info, new Set());
  }

  // A file that came or went can change where the imports of any other file lead.
  resolveImportsAgain() {
    for (const info of [...this.program._sourceFileList]) {
      const sourceFile = info.sourceFile;
      if (sourceFile.isParseRequired()) {
        continue;
      }
      const before = importsMeaning(sourceFile.getImports(), sourceFile.getBuiltinsImport());
      const environment = this.options.findExecEnvironment(sourceFile.getFilePath());
      const modules = sourceFile.getParseResults().importedModules;
      const now = sourceFile._resolveImports(this.importResolver, modules, environment);
      if (before !== importsMeaning(now.imports, now.builtinsImportResult)) {
        sourceFile.markDirty();
        this.markDependentsDirty(info);
      }
    }
  }
}

function importsMeaning(imports, builtins) {
  const withoutLog = (key, value) => (key === 'importFailureInfo' ? undefined : value);
  return JSON.stringify([imports, builtins], withoutLog);
}

module.exports = { IndexedProgram };
