// Runs one cell, argv[2], as a JavaScript context does; what comes of it goes to descriptor 3 as a line of JSON.
const fs = require('fs');
const say = (message) => fs.writeSync(3, JSON.stringify(message) + '\n');
// The real kernel never answers after it.
process.exit = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
globalThis.require = require;
const report = (error) => {
  say({type: 'error', name: error?.name ?? 'Error', value: String(error?.message ?? error), traceback: String(error?.stack ?? error)});
};
process.on('uncaughtException', report);
try {
  const value = require('vm').runInThisContext(process.argv[2], {filename: 'evalmachine.<anonymous>'});
  if (value !== undefined) {
    const text = typeof value === 'string' ? value : require('util').inspect(value);
    say({type: 'result', text, extra: {}, is_main_result: true});
  }
} catch (error) {
  report(error);
}
