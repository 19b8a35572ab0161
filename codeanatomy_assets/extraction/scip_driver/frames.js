'use strict';
// What the driver says: frames on standard output, one at a time, so that nothing is held whole.
// A frame is a header (JSON) and a body (a SCIP document, or nothing), each behind its length in four bytes.

const fs = require('fs');

const STDOUT = 1;
const EMPTY = Buffer.alloc(0);

function writeAll(bytes) {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += fs.writeSync(STDOUT, bytes, written);
    } catch (error) {
      if (error.code !== 'EAGAIN') {
        throw error;
      }
      // A full pipe that was set not to block: wait for the reader.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

function lengthOf(bytes) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return length;
}

function writeFrame(header, body = EMPTY) {
  const head = Buffer.from(JSON.stringify(header), 'utf8');
  writeAll(Buffer.concat([lengthOf(head), head, lengthOf(body), Buffer.from(body)]));
}

module.exports = { writeFrame };
