// Calls an answer's function once, or makes one instance of its class, with arguments from the other side.

'use strict';

const { describe } = require('./errors.js');
const { decode, encode } = require('./plain.js');
const { entryPoint, isClass } = require('./program.js');

const { apply, construct } = Reflect;

// Returns the reply to a failed call, in the form that answering.py describes.
function raised(error) {
  return `{"raised":{"builtin":"Exception","args":null,${describe(error).slice(1)}}`;
}

function prepare({ name }, ask) {
  return async ({ lookUp, exported }, write, leave) => {
    const target = entryPoint({ lookUp, exported }, name);
    write(typeof target === 'function' ? '{"loaded":true}\n' : '{"loaded":false}\n');
    if (typeof target !== 'function') leave(0);
    const args = decode(ask());
    let reply;
    try {
      reply = `{"value":${encode(isClass(target) ? construct(target, args) : await apply(target, undefined, args))}}`;
    } catch (error) {
      reply = raised(error);
    }
    write(`${reply}\n`);
    // Exit at once, so that no more code of the answer runs.
    leave(0);
  };
}

module.exports = { prepare };
