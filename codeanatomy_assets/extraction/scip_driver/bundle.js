'use strict';
// Loads the installed scip-python bundle, after checking that it is the one this driver was written for.

const crypto = require('crypto');
const fs = require('fs');
const Module = require('module');
const path = require('path');

const KNOWN_VERSION = '0.6.6';
const KNOWN_SHA256 = {
  'scip-python.js': '55c645ed91e34ea4a2a7b47b1c482162cf173882e335a64c48ea6e8cbdb0ec05',
  'pyright-internal.js': '85e9edd2f09b927de696b09441f57470f06dbcb4279477034f856d76c77d47a8',
  'vendor.js': '5a706ad958ccc0e6d41abacb441c5e21b84bc1d01720185f855b3982b00f480f',
};

// The bundle's entry point is a call of its main module; replaced, it hands out the loader instead.
const ENTRY_POINT = '(()=>r(6608))';
const HAND_OUT_LOADER = '(()=>{globalThis.__codeanatomyLoader=r})';

// Numbers of the bundle's modules: fixed by the hashes above.
const MODULES = {
  analyzerNodeInfo: 563,
  configOptions: 2930,
  console: 2211,
  fileMatcher: 2410,
  host: 8442,
  importResolver: 2374,
  parseTreeUtils: 8494,
  parseTreeWalker: 427,
  pathUtils: 6657,
  program: 8408,
  pyrightFileSystem: 1447,
  pythonPathUtils: 1887,
  pythonVersion: 6886,
  realFileSystem: 7720,
  scip: 2464,
  symbols: 3466,
  treeVisitor: 3373,
  typeUtils: 5168,
};

class UnknownBundle extends Error {}

function checkBundle(packageDir) {
  const manifest = path.join(packageDir, 'package.json');
  if (!fs.existsSync(manifest)) {
    throw new UnknownBundle(`no scip-python at ${packageDir}: install it with npm ci from the driver's package-lock.json`);
  }
  const version = JSON.parse(fs.readFileSync(manifest, 'utf8')).version;
  if (version !== KNOWN_VERSION) {
    throw new UnknownBundle(`scip-python ${version} at ${packageDir} is not known to this driver: it knows ${KNOWN_VERSION}`);
  }
  for (const [name, expected] of Object.entries(KNOWN_SHA256)) {
    const found = crypto.createHash('sha256').update(fs.readFileSync(path.join(packageDir, 'dist', name))).digest('hex');
    if (found !== expected) {
      throw new UnknownBundle(
        `${path.join(packageDir, 'dist', name)} is not the file of scip-python ${KNOWN_VERSION}: ` +
          `its sha256 is ${found}, the driver knows ${expected}; reinstall it with npm ci`
      );
    }
  }
}

function refuseSubprocesses() {
  const childProcess = require('child_process');
  for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork']) {
    childProcess[name] = () => {
      throw new Error(`the indexer tried to start a process (child_process.${name}), which indexing never does`);
    };
  }
}

function loadBundle(packageDir) {
  checkBundle(packageDir);
  refuseSubprocesses();
  // Standard output carries frames: nothing the bundle prints may reach it.
  for (const level of ['log', 'info', 'debug', 'warn', 'error']) {
    console[level] = () => {};
  }
  const dist = path.join(packageDir, 'dist') + path.sep;
  const entry = dist + 'scip-python.js';
  const source = fs.readFileSync(entry, 'utf8');
  if (source.split(ENTRY_POINT).length !== 2) {
    throw new UnknownBundle(`${entry} does not start as scip-python ${KNOWN_VERSION} does`);
  }
  global.__rootDirectory = dist;
  const main = new Module(entry);
  main.filename = entry;
  main.paths = Module._nodeModulePaths(dist);
  main._compile(source.replace(ENTRY_POINT, HAND_OUT_LOADER), entry);
  const loader = globalThis.__codeanatomyLoader;
  delete globalThis.__codeanatomyLoader;
  const loaded = { version: KNOWN_VERSION, dist };
  for (const [name, id] of Object.entries(MODULES)) {
    loaded[name] = loader(id);
  }
  loaded.scip = loaded.scip.scip;
  return loaded;
}

module.exports = { KNOWN_VERSION, UnknownBundle, loadBundle };
