// Plain data: arguments from JSON, results to JSON, in the form that plain.py describes.
//
// The form is written as text directly, without anything that the answer could have replaced: no `toJSON`, no iterator,
// no method of a prototype. An object of the answer can choose what a read from it gives (with a getter or a Proxy).
// That changes only the answer's own result.

'use strict';

const { stringify } = JSON;
const { apply, getPrototypeOf } = Reflect;
const { isArray } = Array;
const { keys } = Object;
const { isInteger, isSafeInteger, isFinite } = Number;
const toBigInt = BigInt;
const { toString } = BigInt.prototype;
const { toISOString } = Date.prototype;
const { forEach: forEachOfMap } = Map.prototype;
const { forEach: forEachOfSet } = Set.prototype;
const { types } = require('util');
const { isMap, isSet, isDate, isTypedArray } = types;
const ofIterators = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
const lengthOf = Object.getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), 'length').get;

const MAX_DEPTH = 200; // as plain.MAX_DEPTH
const MAX_NODES = 2_000_000; // as plain.MAX_NODES
const SMALL = 1n << 63n;

// Objects whose own fields are not what they hold.
const NO_DATA = [
  { __proto__: null, is: types.isPromise, name: 'Promise' },
  { __proto__: null, is: types.isRegExp, name: 'RegExp' },
  { __proto__: null, is: types.isNativeError, name: 'Error' },
  { __proto__: null, is: types.isWeakMap, name: 'WeakMap' },
  { __proto__: null, is: types.isWeakSet, name: 'WeakSet' },
  { __proto__: null, is: types.isAnyArrayBuffer, name: 'ArrayBuffer' },
  { __proto__: null, is: types.isDataView, name: 'DataView' },
  { __proto__: null, is: types.isBoxedPrimitive, name: 'object around a primitive value' },
  { __proto__: null, is: isIterator, name: 'iterator' },
];

class TooMuch extends Error {}

// Returns the JavaScript value of a form. Forms come from the trusted side.
function decode(form) {
  if (typeof form !== 'object' || form === null) return form;
  if (isArray(form)) return form.map(decode);
  const [tag] = keys(form);
  const body = form[tag];
  switch (tag) {
    case 't':
      return body.map(decode);
    case 'i':
      return body[0] === '-' ? -BigInt(body.slice(1)) : BigInt(body);
    case 'f':
      return { nan: NaN, inf: Infinity, '-inf': -Infinity }[body];
    case 's':
    case 'fs':
      return new Set(body.map(decode));
    case 'd':
      return decodeMapping(body);
    default:
      throw new TypeError(`JavaScript has no value for what plain.py tags ${tag}`);
  }
}

// Returns an object if all keys are strings, otherwise a Map.
function decodeMapping(pairs) {
  if (!pairs.every(([key]) => typeof key === 'string')) {
    return new Map(pairs.map(([key, value]) => [decode(key), decode(value)]));
  }
  const made = {};
  for (const [key, value] of pairs) {
    Object.defineProperty(made, key, { value: decode(value), writable: true, enumerable: true, configurable: true });
  }
  return made;
}

// Returns the form of a value that is not plain data. The value stays here, and messages name it.
function standIn(what) {
  return `{"h":[0,${stringify(what)},0]}`;
}

function encode(value) {
  const counted = { __proto__: null, nodes: 0 };
  try {
    return encodeAt(value, 0, counted, false);
  } catch (error) {
    if (error instanceof TooMuch) return standIn(`value of more than ${MAX_NODES} parts, or nested too deep`);
    throw error;
  }
}

function isIterator(value) {
  for (let one = value; one !== null; one = getPrototypeOf(one)) {
    if (one === ofIterators) return true;
  }
  return false;
}

// With `hashed`, the value is in a Set, or in a key of a Map: an array is a tuple there.
function encodeAt(value, depth, counted, hashed) {
  counted.nodes += 1;
  if (counted.nodes > MAX_NODES || depth > MAX_DEPTH) throw new TooMuch();
  switch (typeof value) {
    case 'undefined':
      return 'null';
    case 'boolean':
      return value ? 'true' : 'false';
    case 'string':
      return stringify(value);
    case 'number':
      return encodeNumber(value);
    case 'bigint':
      return encodeBigInt(value);
    case 'object':
      return value === null ? 'null' : encodeObject(value, depth + 1, counted, hashed);
    default:
      return standIn(typeof value);
  }
}

function encodeNumber(value) {
  // 3 and 3.0 are the same number here. The text of a larger integer has only as many digits as distinguish it from its
  // neighbours, and then zeros or an exponent.
  if (isInteger(value) && !isSafeInteger(value)) return encodeBigInt(toBigInt(value));
  if (isFinite(value)) return `${value}`;
  return value !== value ? '{"f":"nan"}' : value > 0 ? '{"f":"inf"}' : '{"f":"-inf"}';
}

function encodeBigInt(value) {
  if (-SMALL < value && value < SMALL) return `${value}`;
  return value < 0n ? `{"i":"-0x${apply(toString, -value, [16])}"}` : `{"i":"0x${apply(toString, value, [16])}"}`;
}

function encodeObject(value, depth, counted, hashed) {
  let text = '';
  const add = (piece) => {
    text += text === '' ? piece : `,${piece}`;
  };
  if (isArray(value) || isTypedArray(value)) {
    const { length } = isArray(value) ? value : { length: apply(lengthOf, value, []) };
    for (let i = 0; i < length; i += 1) add(encodeAt(value[i], depth, counted, hashed));
    return hashed ? `{"t":[${text}]}` : `[${text}]`;
  }
  const pair = (item, key) => add(`[${encodeAt(key, depth, counted, true)},${encodeAt(item, depth, counted, hashed)}]`);
  if (isMap(value)) {
    apply(forEachOfMap, value, [pair]);
    return `{"d":[${text}]}`;
  }
  if (isSet(value)) {
    apply(forEachOfSet, value, [(item) => add(encodeAt(item, depth, counted, true))]);
    return `{"s":[${text}]}`;
  }
  if (isDate(value)) return stringify(apply(toISOString, value, []));
  for (let i = 0; i < NO_DATA.length; i += 1) {
    if (NO_DATA[i].is(value)) return standIn(NO_DATA[i].name);
  }
  const names = keys(value);
  for (let i = 0; i < names.length; i += 1) {
    const item = value[names[i]];
    // As in JSON, properties with other values are left out.
    if (item !== undefined && typeof item !== 'function' && typeof item !== 'symbol') pair(item, names[i]);
  }
  return `{"d":[${text}]}`;
}

module.exports = { decode, encode };
