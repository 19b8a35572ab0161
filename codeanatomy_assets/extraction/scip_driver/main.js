'use strict';
// The indexer's process. `main.js serve <package>` answers requests until its input ends;
// `main.js --compatible <package> <settings> <output>` writes the stock command's index and ends.

const { loadBundle } = require('./bundle');
const { writeCompatibleIndex } = require('./compatible');
const { DocumentMaker } = require('./documents');
const { writeFrame } = require('./frames');
const { InterfaceReader } = require('./interface');
const { IndexedProgram } = require('./program');
const { listen } = require('./requests');

const STACK_OVERFLOW = 'RangeError: Maximum call stack size exceeded';
const USAGE = 'usage: main.js serve PACKAGE | main.js --compatible PACKAGE SETTINGS_JSON OUTPUT';

class Server {
  constructor(bundle) {
    this.bundle = bundle;
    this.indexed = undefined;
  }

  answer(request) {
    if (request.op === 'open') {
      this.indexed = new IndexedProgram(this.bundle, request.settings);
    } else if (request.op === 'update') {
      this.indexed.update(request);
    } else if (request.op === 'index') {
      this.index(request.files);
    } else {
      throw new Error(`unknown request ${request.op}: open, update and index are known`);
    }
    const { user, system } = process.cpuUsage();
    const usage = { cpu_seconds: (user + system) / 1e6, rss_bytes: process.memoryUsage.rss() };
    writeFrame({ kind: 'done', op: request.op, ...usage });
  }

  index(files) {
    const unknown = files.find((file) => !this.indexed.files.has(this.indexed.absolute(file)));
    if (unknown !== undefined) {
      throw new Error(`${unknown} is not a file of the program: tell it as added before it is indexed`);
    }
    this.indexed.bindInStatedOrder();
    const maker = new DocumentMaker(this.bundle, this.indexed);
    for (const file of files) {
      this.indexOne(maker, file);
    }
  }

  // A file whose document can't be made is reported, and the others go on.
  indexOne(maker, file) {
    let made;
    let entries;
    try {
      made = maker.make(file);
      entries = new InterfaceReader(this.bundle, this.indexed, made).read();
    } catch (error) {
      writeFrame({ kind: 'failure', path: file, reason: reasonOf(error, this.indexed.root) });
      return;
    }
    writeFrame({ kind: 'document', path: file, interface: entries }, made.document.serializeBinary());
  }
}

// The same failure must read the same in any folder and any process. Where a stack overflows, in the parser, the
// binder or later, depends on what was compiled by then: it is one failure.
function reasonOf(error, root) {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (text.includes(STACK_OVERFLOW)) {
    return `nested too deeply: ${STACK_OVERFLOW}`;
  }
  return text.split('\n', 1)[0].replaceAll(root + '/', '').slice(0, 500);
}

function fail(error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  writeFrame({ kind: 'error', message: error instanceof Error ? error.message : String(error) });
  process.exit(1);
}

function main([command, packageDir, ...rest]) {
  if (command === 'serve' && packageDir) {
    const server = new Server(loadBundle(packageDir));
    writeFrame({ kind: 'ready', version: server.bundle.version });
    listen((request) => {
      try {
        server.answer(request);
      } catch (error) {
        fail(error);
      }
    });
  } else if (command === '--compatible' && rest.length === 2) {
    writeCompatibleIndex(loadBundle(packageDir), JSON.parse(rest[0]), rest[1]);
  } else {
    throw new Error(USAGE);
  }
}

try {
  main(process.argv.slice(2));
} catch (error) {
  fail(error);
}
