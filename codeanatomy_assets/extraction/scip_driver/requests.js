'use strict';
// What the driver is told: JSON lines on standard input, read by a thread of their own, because the main
// thread may be deep in a document when the parent dies. The input's end is the process's end.

const fs = require('fs');
const { Worker, isMainThread, parentPort } = require('worker_threads');

const STDIN = 0;
const GRACE_MILLISECONDS = 300;

function listen(onRequest) {
  const reader = new Worker(__filename);
  reader.on('message', (message) => {
    if (message.end) {
      process.exit(0);
    }
    onRequest(JSON.parse(message.line));
  });
}

function readLines() {
  const chunk = Buffer.alloc(1 << 16);
  let pending = [];
  for (;;) {
    const count = readSome(chunk);
    if (count === 0) {
      break;
    }
    let rest = Buffer.from(chunk.subarray(0, count));
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      parentPort.postMessage({ line: Buffer.concat([...pending, rest.subarray(0, end)]).toString('utf8') });
      pending = [];
      rest = rest.subarray(end + 1);
    }
    pending.push(rest);
  }
  parentPort.postMessage({ end: true });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, GRACE_MILLISECONDS);
  process.kill(process.pid, 'SIGKILL');
}

function readSome(chunk) {
  for (;;) {
    try {
      return fs.readSync(STDIN, chunk);
    } catch (error) {
      if (error.code === 'EOF') {
        return 0;
      }
      if (error.code !== 'EAGAIN') {
        throw error;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

if (!isMainThread) {
  readLines();
}

module.exports = { listen };
