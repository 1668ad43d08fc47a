// Records the state of JavaScript's own objects before an answer runs, and restores it before the tests run.
//
// Tests that run beside an answer compare with the methods of shared prototypes. Properties that the answer has added
// stay, because its own functions can use them, except those that the language itself looks up: iterators, `toJSON`,
// `then`, accessors. While the tests run, what they compare with is locked, because a result can have accessors, which
// run code of the answer in the middle of a comparison.

'use strict';

const assert = require('assert');
const util = require('util');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
const { hasOwn, is } = Object;
const PARTS = ['value', 'get', 'set', 'writable', 'enumerable', 'configurable'];

const CHANGED = /\.(\w+)\s*=(?![=>])|['"`](\w+)['"`]/g;

// Programs assign to these properties of their own objects and functions. They could not if the properties of the same
// names in the prototypes were locked.
const ASSIGNED = { __proto__: null, constructor: true, toString: true, toLocaleString: true, valueOf: true };
const ORDINARY = [Object.prototype, Function.prototype];
const PRIMITIVES = [String, Number, Boolean, BigInt, Symbol];

// The language looks these up in all objects.
const LOOKED_UP = ['then', 'toJSON', Symbol.toPrimitive];

// Returns JavaScript's own objects, and some modules of Node.
function sharedObjects(modules) {
  const found = new Set([globalThis, assert, assert.strict, util, util.types, ...modules]);
  const samples = [[][Symbol.iterator](), new Map().entries(), new Set().entries(), ''[Symbol.iterator](), /x/[Symbol.matchAll]('')];
  samples.push(function* () {}, async function () {}, async function* () {}, (function* () {})(), (async function* () {})());
  // `Buffer` has a setter there, which keeps a new value in a place that cannot be seen.
  defineProperty(globalThis, 'Buffer', { value: Buffer, writable: true, enumerable: false, configurable: true });
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const { value } = Object.getOwnPropertyDescriptor(globalThis, name);
    if (typeof value === 'function') samples.push(value, value.prototype);
    else if (typeof value === 'object' && value !== null && value !== process && value !== console) samples.push(value);
  }
  for (const sample of samples) {
    for (let one = sample; one !== null && one !== undefined; one = Object.getPrototypeOf(one)) found.add(one);
  }
  return [...found];
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
function keep(text, modules) {
  const free = changedNames(text);
  const kept = sharedObjects(modules).map((object) => {
    const names = ownKeys(object);
    const properties = names.map((key) => ({ __proto__: null, key, was: describeProperty(object, key) }));
    return { __proto__: null, object, prototype: getPrototypeOf(object), names: new Set(names), properties, open: names.length };
  });
  const { add, has } = Set.prototype;

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
      if (object === globalThis) continue;
      const now = ownKeys(object);
      for (let j = 0; j < now.length; j += 1) {
        if (!apply(has, names, [now[j]]) && isLookedUp(object, now[j])) note(object, now[j], null);
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
  };

  const lock = () => {
    for (let i = 0; i < kept.length; i += 1) {
      const { object, names, properties } = kept[i];
      let open = 0;
      for (let j = 0; j < properties.length; j += 1) {
        const { key, was } = properties[j];
        if (!(key in free) && isCompared(object, key, was)) defineProperty(object, key, locked(object, key, was));
        else properties[open++] = properties[j];
      }
      kept[i].open = open; // Nothing can change the others any more.
      for (let j = 0; j < LOOKED_UP.length; j += 1) {
        const key = LOOKED_UP[j];
        if (key in free || !isPrototype(object) || getOwnPropertyDescriptor(object, key) !== undefined) continue;
        defineProperty(object, key, absentFrom(object, key));
        apply(add, names, [key]);
      }
    }
  };

  return { changes, lock, restore };
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
  if (own(was, 'configurable') !== true) return false;
  if (object === globalThis) return typeof key === 'string' && /^([A-Z]|is|parse)/.test(key) && hasOwn(was, 'value');
  if (!hasOwn(was, 'value')) return isPrototype(object); // A module of Node can replace an accessor itself.
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
function locked(object, key, was) {
  if (!hasOwn(was, 'value')) return { __proto__: null, configurable: false };
  const { value, enumerable } = was;
  if (typeof value !== 'function' || !isInherited(object, key)) return { __proto__: null, configurable: false, writable: false };
  return { __proto__: null, get: () => value, set: setterBeside(object, key), enumerable, configurable: false };
}

// Returns whether objects of programs inherit a property. Hardly any inherit those of primitive values, and to read an
// accessor of these takes three times as long. Node names an object by a `constructor` that is no accessor.
function isInherited(object, key) {
  if (key === 'constructor' || (typeof key === 'symbol' && key !== Symbol.iterator)) return false;
  return object !== Object && !ofPrimitives(object) && (typeof object === 'function' || isPrototype(object));
}

function ofPrimitives(object) {
  return PRIMITIVES.some((one) => object === one || object === one.prototype);
}

// Returns a property that is as if it was not there, and that objects which inherit it can assign to.
function absentFrom(object, key) {
  return { __proto__: null, get: () => undefined, set: setterBeside(object, key), enumerable: false, configurable: false };
}

// Returns a setter that gives an object a property of its own, but not `object` itself.
function setterBeside(object, key) {
  return function (value) {
    if (this === object || this === null || (typeof this !== 'object' && typeof this !== 'function')) return;
    defineProperty(this, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  };
}

// Returns whether the language, or a library, finds an added property by itself.
function isLookedUp(object, key) {
  if (typeof key === 'symbol' || key === 'then') return true;
  if (key === 'toJSON') return object !== BigInt.prototype;
  // Libraries look up options in plain objects, which inherit from `Object.prototype`.
  return object === Object.prototype && typeof own(getOwnPropertyDescriptor(object, key), 'value') !== 'function';
}

module.exports = { keep };
