'use strict';
// The stock command's index, byte for byte, from this driver's own surroundings: one evaluator and one map
// of symbols for all files, the checker's passes, documentation. It exists to be compared with the command.

const fs = require('fs');
const path = require('path');
const url = require('url');
const { surroundings } = require('./surroundings');

const EXCLUDED = ['**/node_modules', '**/__pycache__', '**/.*'];
const NEVER_CANCELLED = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
const ANALYSIS_TIME = { openFilesTimeInMs: 10000, noOpenFilesTimeInMs: 10000 };

function writeCompatibleIndex(bundle, settings, output) {
  const { scip } = bundle;
  const around = surroundings(bundle, settings);
  process.chdir(around.root);
  const program = stockProgram(bundle, around);
  const out = fs.openSync(output, 'w');
  const write = (part) => fs.writeSync(out, new scip.Index(part).serializeBinary());
  write({
    metadata: new scip.Metadata({
      project_root: url.pathToFileURL(around.root).toString(),
      text_document_encoding: scip.TextEncoding.UTF8,
      tool_info: new scip.ToolInfo({ name: 'scip-python', version: bundle.version, arguments: [] }),
    }),
  });
  const externalSymbols = new Map();
  const globalSymbols = new Map();
  for (const sourceFile of analysedFiles(program, around)) {
    const document = new scip.Document({ relative_path: path.relative(around.root, sourceFile.getFilePath()) });
    const visitor = new bundle.treeVisitor.TreeVisitor({
      document,
      externalSymbols,
      sourceFile,
      evaluator: program.evaluator,
      program,
      pyrightConfig: around.options,
      scipConfig: around.scipConfig,
      pythonEnvironment: around.packages,
      globalSymbols,
    });
    visitor.walk(sourceFile.getParseResults().parseTree);
    if (document.occurrences.length > 0) {
      write({ documents: [document] });
    }
  }
  write({ external_symbols: [...externalSymbols.values()] });
  fs.closeSync(out);
}

function stockProgram(bundle, around) {
  const { fileSystem, options, root } = around;
  const matcher = new bundle.fileMatcher.FileMatcher(options, fileSystem);
  const spec = (pattern) => bundle.pathUtils.getFileSpec(fileSystem, root, pattern);
  const files = matcher.matchFiles([spec('.')], EXCLUDED.map(spec));
  const importResolver = new bundle.importResolver.ImportResolver(fileSystem, options, around.host);
  const program = new bundle.program.Program(importResolver, options);
  program.setTrackedFiles(files);
  return program;
}

function analysedFiles(program, around) {
  const analyse = () => {
    while (program.analyze(ANALYSIS_TIME));
  };
  analyse();
  const sourceFiles = [];
  program.indexWorkspace((file) => {
    if (!file.startsWith(around.root)) {
      return;
    }
    const sourceFile = program.getSourceFile(file);
    sourceFiles.push(sourceFile);
    for (const imported of sourceFile.getImports()) {
      imported.resolvedPaths.forEach((resolved) => program.addTrackedFile(resolved, true, false));
    }
  }, NEVER_CANCELLED);
  sourceFiles.forEach((sourceFile) => sourceFile.markDirty(true));
  analyse();
  return sourceFiles;
}

module.exports = { writeCompatibleIndex };
