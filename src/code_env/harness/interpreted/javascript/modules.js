// The modules of Node that tests require. They are loaded before an answer runs, and the tests get these ones. So it does
// not matter what the answer has done to the cache of modules, or to the functions that load them.

'use strict';

const Module = require('module');
const { resolve } = require('path');

const { createRequire, isBuiltin } = Module;
const { apply } = Reflect;
const { assign, hasOwn } = Object;
const { slice } = String.prototype;

const REQUIRED = /(?:\brequire|\$import)\(\s*['"`]((?:node:)?[\w/]+)['"`]\s*\)/g;
const QUOTED = /['"`]((?:node:)?[\w/]+)['"`]/g;
const NAMED = /\brequire\b|\$import\b/g;

function namesOf(text) {
  const required = Array.from(text.matchAll(REQUIRED), ([, name]) => name).filter(isBuiltin);
  const isAll = !(text.match(NAMED)?.length > required.length);
  return { required, isAll };
}

function plainName(name) {
  return apply(slice, name, [0, 5]) === 'node:' ? apply(slice, name, [5]) : name;
}

// Returns the modules that a text requires, by the names that it uses for them. `ofTests` holds those that tests get in
// place of Node's.
function modulesOf(text, ofTests) {
  const { required, isAll } = namesOf(text);
  const names = isAll ? required : Array.from(text.matchAll(QUOTED), ([, name]) => name).filter(isBuiltin);
  const found = { __proto__: null };
  for (const name of names) found[name] = ofTests[plainName(name)] ?? require(name);
  return found;
}

// Returns the function `require` of the tests.
function requireOf(modules, ofTests) {
  const { _load } = Module;
  const other = createRequire(resolve('tests.js'));
  const own = (name) => {
    if (typeof name !== 'string') return other(name);
    if (hasOwn(modules, name)) return modules[name];
    if (!isBuiltin(name)) return other(name);
    const plain = plainName(name);
    // With this prefix, Node does not look into the cache.
    return ofTests[plain] ?? apply(_load, Module, [`node:${plain}`, null, false]);
  };
  return assign(own, other);
}

// Returns what stands for `import(...)` in the tests. A module of Node is its own default.
function importOf(load) {
  return async (name) => {
    const module = load(name);
    return assign({ __proto__: null }, module, { default: module?.__esModule ? module.default : module });
  };
}

// Returns what loads the files that a text requires; nothing if it requires only modules of Node.
function loadersOf(text) {
  return namesOf(text).isAll ? [] : [Module, Module.prototype, Module._extensions];
}

module.exports = { importOf, loadersOf, modulesOf, requireOf };
