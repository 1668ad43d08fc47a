// Records the state of JavaScript's own objects before an answer runs, and restores it before the tests run.
//
// Tests that run beside an answer compare with the methods of shared prototypes. Properties that the answer has added
// stay, because its own functions can use them, except those that the language or a library looks up by itself, such as
// iterators, `toJSON` and `then`, and accessors of all objects, of functions and of errors. While the tests run, what
// they compare with is locked, because a result can have accessors, which run code of the answer in the middle of a
// comparison.

'use strict';

const assert = require('assert');
const util = require('util');
const { compileFunction } = require('vm');
const { fixed, inherited, shieldErrors } = require('./shields.js');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, has: finds, ownKeys, setPrototypeOf } = Reflect;
const { create, hasOwn, is } = Object;
const { globalThis, process } = global; // An answer can give these names to something else.
const PARTS = ['value', 'get', 'set', 'writable', 'enumerable', 'configurable'];

const CHANGED = /\.(\w+)\s*=(?![=>])|['"`](\w+)['"`]/g;

// Programs assign to these properties of their own objects and functions. They could not if the properties of the same
// names in the prototypes were locked.
const ASSIGNED = { __proto__: null, constructor: true, toString: true, toLocaleString: true, valueOf: true };
const ORDINARY = [Object.prototype, Function.prototype];
// Programs replace these global values, and `process.exit`, or take them for variables of their own.
const REPLACED = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'];
REPLACED.push('queueMicrotask', 'fetch', 'console', 'process', 'global', 'globalThis', 'escape', 'unescape', 'exit');
// Tests measure by these methods of `process`, or end by them; Node itself replaces others.
const MEASURES = ['hrtime', 'uptime', 'cpuUsage', 'memoryUsage', 'resourceUsage', 'cwd', 'exit', 'reallyExit', 'abort', 'kill'];
const AROUND = [globalThis, process, console];
const PRIMITIVES = [String, Number, Boolean, BigInt, Symbol];

const ROUNDS = 10;
const INDEX = /^\d+$/;
const { test } = RegExp.prototype;

// The language looks these up in all objects.
const LOOKED_UP = ['then', 'toJSON', Symbol.toPrimitive];

// Returns JavaScript's own objects, some modules of Node, and what can be reached from the parts that a text names, or
// that these lead to, see instances.js.
function sharedObjects(text, modules, led) {
  const words = new Set([...(text.match(/[\w$]+/g) ?? []), ...led.names]);
  const found = new Set([globalThis, process, process.hrtime, process.memoryUsage, assert, assert.strict, util, util.types, ...modules]);
  const samples = [[][Symbol.iterator](), new Map().entries(), new Set().entries(), ''[Symbol.iterator](), /x/[Symbol.matchAll]('')];
  samples.push(function* () {}, async function () {}, async function* () {}, (function* () {})(), (async function* () {})());
  samples.push(assert.AssertionError, assert.AssertionError.prototype, ...led.prototypes);
  for (const module of modules) {
    for (const key of ownKeys(module)) if (words.has(key)) makePlain(module, key);
    samples.push(...membersOf(module, words));
  }
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    // Answers give the name `process` to what is theirs; the tests have their own, unless they look into the global object.
    if (name === 'Buffer' || words.has(name === 'process' ? 'globalThis' : name)) makePlain(globalThis, name);
    const { value } = Object.getOwnPropertyDescriptor(globalThis, name);
    if (typeof value === 'function') samples.push(value, value.prototype);
    else if (typeof value === 'object' && value !== null && !AROUND.includes(value)) {
      samples.push(value);
      if (words.has(name)) samples.push(...membersOf(value, words));
    }
  }
  for (const sample of samples) {
    for (let one = sample; one !== null && one !== undefined; one = Object.getPrototypeOf(one)) found.add(one);
  }
  return [...found];
}

// Makes an accessor a property with the same value. Some have a setter, which keeps a new value in a place that cannot be
// seen. What an object such as `performance` inherits becomes its own, so that nothing can be put in front of it.
function makePlain(object, key) {
  const { get, enumerable, configurable } = Object.getOwnPropertyDescriptor(object, key);
  if (get === undefined || !configurable) return;
  const value = object[key];
  defineProperty(object, key, { value, writable: true, enumerable, configurable });
  if (typeof value !== 'object' || value === null || AROUND.includes(value)) return;
  for (let one = getPrototypeOf(value); one !== null && one !== Object.prototype; one = getPrototypeOf(one)) {
    for (const name of ownKeys(one)) {
      if (!hasOwn(value, name)) defineProperty(value, name, { ...getOwnPropertyDescriptor(one, name), enumerable: false });
    }
  }
}

// Returns the classes and other objects that an object holds, with their prototypes, and its functions that hold more.
function membersOf(object, words) {
  const found = [];
  for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
    // To get what an accessor returns can load a module.
    const value = property.get !== undefined && words.has(key) ? object[key] : property.value;
    if (AROUND.includes(value)) continue;
    if (typeof value === 'function') {
      if (Object.keys(value).length > 0 || holdsMethods(value.prototype)) found.push(value, value.prototype);
    } else if (typeof value === 'object' && value !== null && Object.values(value).some((one) => typeof one === 'function')) {
      found.push(value);
    }
  }
  return found;
}

// Returns whether a prototype has methods, or inherits some that not every object has.
function holdsMethods(prototype) {
  if (typeof prototype !== 'object' || prototype === null) return false;
  return ownKeys(prototype).length > 1 || getPrototypeOf(prototype) !== Object.prototype;
}

// Returns the names that a text may want to change: those that it assigns to as properties, and those in quotes.
function changedNames(text) {
  const found = { __proto__: null };
  for (const [, assigned, quoted] of text.matchAll(CHANGED)) found[assigned ?? quoted] = true;
  return found;
}

// Records their state now. `changes` returns what differs when it is called. `restore` undoes all changes except those
// that it is given, and throws if the answer has made that impossible. `lock` prevents changes of what the text of the
// tests does not change itself.
function keep(text, modules, led) {
  const free = changedNames(text);
  const kept = sharedObjects(text, modules, led).map((object) => {
    const names = object === process ? ownKeys(object).filter((key) => MEASURES.includes(key)) : ownKeys(object);
    const properties = names.map((key) => ({ __proto__: null, key, was: describeProperty(object, key) }));
    return { __proto__: null, object, prototype: getPrototypeOf(object), names: new Set(names), properties, open: names.length };
  });
  const { add, has } = Set.prototype;
  const isShadowed = shadows();
  const { prepareStackTrace } = Error;
  const makeFast = looksAt(kept.length);
  freezeMethods(kept);

  const changes = () => {
    let first = null; // A chain of objects, because an array would have methods that are not its own.
    const note = (object, key, was) => {
      first = { __proto__: null, object, key, was, now: describeProperty(object, key), next: first };
    };
    for (let i = 0; i < kept.length; i += 1) {
      const { object, prototype, names, properties, open } = kept[i];
      if (getPrototypeOf(object) !== prototype && !setPrototypeOf(object, prototype)) refuse('a prototype');
      for (let j = 0; j < open; j += 1) {
        const { key, was } = properties[j];
        if (!isAs(getOwnPropertyDescriptor(object, key), was)) note(object, key, was);
      }
      if (object === globalThis || object === process) continue;
      const now = ownKeys(object);
      for (let j = 0; j < now.length; j += 1) {
        if (!apply(has, names, [now[j]]) && (isLookedUp(object, now[j]) || hides(prototype, now[j]))) note(object, now[j], null);
      }
    }
    return first;
  };

  const restore = (allowed) => {
    for (let one = changes(); one !== null; one = one.next) {
      const { object, key, was } = one;
      if (isAmong(allowed, one)) continue;
      if (was === null ? !deleteProperty(object, key) : !defineProperty(object, key, was)) refuse(String(key));
    }
    // After `lock`, no name of a property that is locked can be declared.
    if (allowed === null && isShadowed()) refuse('a name');
  };

  const lock = () => {
    for (let i = 0; i < kept.length; i += 1) {
      const { object, names, properties } = kept[i];
      const isInherited = inherits(object);
      let open = 0;
      for (let j = 0; j < properties.length; j += 1) {
        const { key, was } = properties[j];
        if (!(key in free) && isCompared(object, key, was)) defineProperty(object, key, locked(object, key, was, isInherited));
        else properties[open++] = properties[j];
      }
      kept[i].open = open; // Nothing can change the others any more.
      const put = (key, value) => {
        if (key in free || getOwnPropertyDescriptor(object, key) !== undefined) return;
        defineProperty(object, key, fixed(object, key, value, false));
        apply(add, names, [key]);
      };
      for (let j = 0; isPrototype(object) && j < LOOKED_UP.length; j += 1) put(LOOKED_UP[j], undefined);
      if (object === Function.prototype) put('prototype', undefined);
      const values = inherited(object);
      for (let j = 0; j < values.length; j += 1) put(values[j][0], values[j][1]);
    }
    shieldErrors(prepareStackTrace);
    const heirs = [];
    for (let i = 0; i < kept.length; i += 1) {
      defineProperty(heirs, i, { __proto__: null, value: create(kept[i].object) });
    }
    makeFast(heirs);
  };

  return { changes, lock, restore };
}

// Returns a function that looks up a property in this many objects, each in a place of its own. What they inherit from
// is slow after it was locked: V8 keeps it as a dictionary, and does not inline its methods. At such a look-up V8 makes
// it fast again, once it remembers look-ups in this function, as after some rounds.
function looksAt(count) {
  const looks = Array.from({ length: count }, (_, i) => `heirs[${i}].$;`).join('\n');
  return compileFunction(`for (let i = 0; i < ${ROUNDS}; i += 1) {\n${looks}\n}`, ['heirs']);
}

// Returns a function that says whether a program has declared a name, such as `Math`, in front of the global property. A
// script can do so, and the names of this code would mean something else as well.
function shadows() {
  const names = Object.getOwnPropertyNames(globalThis).filter((name) => /^[\w$]+$/.test(name) && hasOwn(describeProperty(globalThis, name), 'value'));
  const meant = compileFunction(`return [${names}]`);
  return () => {
    let values;
    try {
      values = meant();
    } catch {
      return true; // It is declared, and has no value.
    }
    for (let i = 0; i < names.length; i += 1) {
      if (!is(values[i], own(globalThis, names[i]))) return true;
    }
    return false;
  };
}

// Freezes the methods of these objects. Else a program could give them a `call` of their own.
function freezeMethods(kept) {
  const objects = new Set(kept.map(({ object }) => object));
  for (const { properties } of kept) {
    for (const { was } of properties) {
      for (const part of [was.value, was.get, was.set]) if (typeof part === 'function' && !objects.has(part)) Object.freeze(part);
    }
  }
}

function refuse(what) {
  throw new Error(`the program has changed ${what} of JavaScript's own objects for good`);
}

function describeProperty(object, key) {
  const property = getOwnPropertyDescriptor(object, key);
  // Without a prototype, so that only its own properties are found.
  return property !== undefined && setPrototypeOf(property, null) ? property : null;
}

function isAmong(changes, { object, key, now }) {
  for (let one = changes; one !== null; one = one.next) {
    if (one.object === object && one.key === key) return one.now === null ? now === null : now !== null && isAs(now, one.now);
  }
  return false;
}

function isAs(now, was) {
  if (now === undefined) return false;
  for (let i = 0; i < PARTS.length; i += 1) {
    if (!is(own(now, PARTS[i]), was[PARTS[i]])) return false;
  }
  return true;
}

function own(object, key) {
  return getOwnPropertyDescriptor(object, key)?.value;
}

// Returns whether tests can compare with a property, and nothing but a program that cheats changes it now.
function isCompared(object, key, was) {
  if (own(was, 'configurable') !== true) return key === 'prototype' && own(was, 'writable') === true;
  if (object === globalThis || object === process) return typeof key === 'string' && !REPLACED.includes(key) && hasOwn(was, 'value');
  // A module of Node can replace an accessor itself.
  if (!hasOwn(was, 'value')) return typeof object === 'function' || isPrototype(object);
  // The classes of Node have settings in their prototypes, to which they assign in objects.
  if (isPrototype(object) && typeof own(was, 'value') !== 'function') return false;
  return !ofErrors(object) && !(key in ASSIGNED && ORDINARY.includes(object));
}

// Returns whether it is a class of errors, whose settings Node changes, or a prototype, from which `name` is inherited.
function ofErrors(object) {
  return [Error, Error.prototype].some((one) => object === one || getPrototypeOf(object) === one);
}

function isPrototype(object) {
  return object !== globalThis && getOwnPropertyDescriptor(object, 'constructor') !== undefined;
}

// Returns a property that nobody can change. Objects that inherit a method can get one of the same name, as always.
function locked(object, key, was, isInherited) {
  if (!hasOwn(was, 'value')) return { __proto__: null, configurable: false };
  const { value, enumerable } = was;
  // Node names an object by a `constructor` that is no accessor.
  const isKept = key === 'constructor' || key === 'prototype' || (typeof key === 'symbol' && key !== Symbol.iterator);
  if (isKept || !isInherited || typeof value !== 'function') return { __proto__: null, configurable: false, writable: false };
  return fixed(object, key, value, enumerable);
}

// Returns whether programs make objects that inherit from an object. Hardly any do from those of primitive values, and to
// read an accessor of these takes three times as long.
function inherits(object) {
  if (object === Object || PRIMITIVES.some((one) => object === one || object === one.prototype)) return false;
  return typeof object === 'function' || isPrototype(object);
}

// Returns whether an added property hides one that an object inherits, and that programs do not give to their own objects.
function hides(prototype, key) {
  return prototype !== null && !(key in ASSIGNED) && finds(prototype, key);
}

// Returns whether the language, or a library, finds an added property by itself.
function isLookedUp(object, key) {
  if (typeof key === 'symbol' || key === 'then') return true;
  if (key === 'toJSON') return object !== BigInt.prototype;
  const isAccessor = !hasOwn(getOwnPropertyDescriptor(object, key), 'value');
  // Tests keep counts in their own functions, and `assert` asks a function for its `prototype`, and fills errors.
  if (object === Function.prototype) return isAccessor || key === 'prototype';
  if (ofErrors(object)) return isAccessor;
  // Tests assign to the places of their own lists.
  if (object === Array.prototype) return apply(test, INDEX, [key]);
  // Libraries look up options in plain objects, which inherit from `Object.prototype`.
  return object === Object.prototype && typeof own(getOwnPropertyDescriptor(object, key), 'value') !== 'function';
}

module.exports = { keep };
