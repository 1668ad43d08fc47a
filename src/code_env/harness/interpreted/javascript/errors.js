// Describes an error as JSON, with name, message and traceback, whatever the error's own methods do.

'use strict';

const path = require('path');
const { inspect, types } = require('util');

const { isNativeError } = types;
const { stringify } = JSON;
const { apply } = Reflect;
const { slice, split, includes } = String.prototype;
const { filter, join } = Array.prototype;

const MOST = 8192; // characters; see MAX_TEXT in process/limits.py

function text(value) {
  const whole = `${value}`;
  return whole.length <= MOST ? whole : `${apply(slice, whole, [0, MOST])}...`;
}

// Returns the stack without the frames of the driver and of Node itself.
function traceback(stack) {
  const lines = apply(split, `${stack}`, ['\n']);
  const own = (line) => !apply(includes, line, [__dirname + path.sep]) && !apply(includes, line, ['node:internal/']);
  return `${apply(join, apply(filter, lines, [own]), ['\n'])}\n`;
}

function parts(error) {
  if (typeof error !== 'object' || error === null || (!isNativeError(error) && typeof error.stack !== 'string')) {
    const shown = typeof error === 'string' ? error : inspect(error, { customInspect: false });
    return ['Uncaught', shown, `Uncaught ${shown}\n`];
  }
  const { name, message, stack, constructor } = error;
  return [name === 'Error' && typeof constructor === 'function' ? constructor.name : name, message, traceback(stack)];
}

function told(error) {
  try {
    const { 0: name, 1: message, 2: stack } = parts(error);
    return { name: text(name), message: text(message), stack: text(stack) };
  } catch {
    return { name: 'Uncaught', message: '<its text cannot be read>', stack: 'Uncaught <its text cannot be read>\n' };
  }
}

function describe(error) {
  const { name, message, stack } = told(error);
  return `{"name":${stringify(name)},"message":${stringify(message)},"traceback":${stringify(stack)}}`;
}

// Returns name and message in one line.
function headline(error) {
  const { name, message } = told(error);
  return `${name}: ${message}`;
}

module.exports = { describe, headline, text };
