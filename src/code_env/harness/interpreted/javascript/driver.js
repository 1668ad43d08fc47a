// The first code in a Node process that runs an answer: `node driver.js MODE FD FILE [ARGUMENT ...]`.
//
// run    Runs the answer as `node FILE` would. Writes `{}` to FD when Node has started, then the answer's uncaught
//        error.
// serve  Talks to the serving process, which is trusted, on the socket FD. Sends "up"; compiles the answer and sends
//        "compiled" or why it does not compile; asks what to do; then loads the answer and calls it (calls.js), or runs
//        tests beside it (suite.js). Each message that it sends is a line of JSON. It asks for each message that it
//        receives, piece by piece, so that the other side never waits for room.
//
// The answer shares this process and can change every object that it can reach. So everything that is used after the
// answer's first line has run is bound before, and is not looked up in a prototype. The answer cannot reach a closure.

'use strict';

const fs = require('fs');
const Module = require('module');
const path = require('path');
const { describe } = require('./errors.js');
const { compile, isModule, loadModule, loadScript } = require('./program.js');

const [, , mode, number, file, ...args] = process.argv;
const fd = Number(number);
const filename = path.resolve(file);
process.argv = [process.execPath, filename, ...args];

const { readSync, writeSync } = fs;
const { parse } = JSON;
const { apply } = Reflect;
const SELF = process;
const HEAD = 5; // Bytes before a piece: whether it is the last, and its length.

function write(text) {
  writeSync(fd, text);
}

function forgetDriver() {
  // The driver's entries in the list of modules would only confuse the answer.
  for (const name of Object.keys(require.cache)) delete require.cache[name];
  process.mainModule = undefined;
}

function run() {
  write('{}\n');
  // Otherwise `process.exit` drops what the pipe had no room for.
  process.stdout._handle?.setBlocking?.(true);
  const { listenerCount } = process;
  process.on('uncaughtExceptionMonitor', (error) => {
    if (apply(listenerCount, process, ['uncaughtException']) === 0) write(`${describe(error)}\n`);
  });
  const source = fs.readFileSync(filename, 'utf8');
  if (isModule(source, filename)) {
    process.argv[1] = filename.replace(/\.js$/, '.mjs');
    fs.renameSync(filename, process.argv[1]);
  }
  forgetDriver();
  Module.runMain(process.argv[1]);
}

// Reads this many bytes. The kernel can return only a part of what was sent at once.
function receive(length) {
  const bytes = Buffer.alloc(length);
  for (let count = 0; count < length; ) {
    const more = readSync(fd, bytes, count, length - count);
    if (more === 0) process.reallyExit(0);
    count += more;
  }
  return bytes;
}

// Asks for a message and returns it.
function ask() {
  const { utf8Slice } = Buffer.prototype;
  let bytes = Buffer.alloc(0);
  for (let last = false; !last; ) {
    write('"ask"\n');
    const head = receive(HEAD);
    last = head[0] === 1;
    const piece = receive(head.readUInt32BE(1));
    const before = bytes;
    bytes = Buffer.concat([before, piece]);
    before.fill(0);
    piece.fill(0);
  }
  const text = apply(utf8Slice, bytes, [0, bytes.length]);
  bytes.fill(0);
  return parse(text);
}

// Returns what serves a request once the answer is loaded. The request itself can hold tests, and is dropped.
function prepared(request) {
  return request.do === 'suite' ? require('./suite.js').prepare(request, write) : require('./calls.js').prepare(request, ask);
}

async function serve() {
  write('"up"\n');
  const source = fs.readFileSync(filename, 'utf8');
  const problem = compile(source, filename);
  write(problem === null ? '"compiled"\n' : `{"uncompiled":${describe(problem)}}\n`);
  if (problem !== null) return;
  const serveRequest = await prepared(ask());
  const isScript = !isModule(source, filename);
  forgetDriver();
  const { nextTick, reallyExit: leave } = process;
  const fail = (error) => {
    write(`{"error":${describe(error)}}\n`);
    leave(1);
  };
  // What tests call must find itself in a script's top level, where `nextTick` comes before the callbacks of promises. So
  // they run in a tick, a script with its tests.
  const inTick = (callback) => apply(nextTick, SELF, [callback]);
  if (isScript) {
    inTick(() => {
      let program;
      try {
        program = loadScript(source, filename);
      } catch (error) {
        fail(error);
      }
      serveRequest(program, write, leave);
    });
    return;
  }
  let program;
  try {
    program = await loadModule(source, filename);
  } catch (error) {
    fail(error);
  }
  inTick(() => serveRequest(program, write, leave));
}

if (mode === 'run') run();
else serve();
