// Plain data: arguments from JSON, results to JSON, in the form that plain.py describes.
//
// The form is written as text here and now, with nothing that the answer could have put into the way: no `toJSON`, no
// iterator, no method of a prototype. What an object of its own says when it is read (a getter, a Proxy) is its affair.

'use strict';

const { stringify } = JSON;
const { apply } = Reflect;
const { isArray } = Array;
const { keys } = Object;
const { isInteger, isSafeInteger, isFinite } = Number;
const toBigInt = BigInt;
const { toString } = BigInt.prototype;
const { toISOString } = Date.prototype;
const { forEach: forEachOfMap } = Map.prototype;
const { forEach: forEachOfSet } = Set.prototype;
const { types } = require('util');
const { isMap, isSet, isDate, isTypedArray, isPromise } = types;
const lengthOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length').get;

const MAX_DEPTH = 200; // as plain.MAX_DEPTH
const MAX_NODES = 2_000_000; // as plain.MAX_NODES
const SMALL = 1n << 63n;

class TooMuch extends Error {}

// JavaScript values for forms, which come from the trusted side.
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

// An object where all keys are texts, else a Map.
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

// What stands for a value that is no plain data: it stays here, and a message names it.
function standIn(what) {
  return `{"h":[0,${stringify(what)},0]}`;
}

function encode(value) {
  const counted = { __proto__: null, nodes: 0 };
  try {
    return encodeAt(value, 0, counted);
  } catch (error) {
    if (error instanceof TooMuch) return standIn(`value of more than ${MAX_NODES} parts, or nested too deep`);
    throw error;
  }
}

function encodeAt(value, depth, counted) {
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
      return value === null ? 'null' : encodeObject(value, depth + 1, counted);
    default:
      return standIn(typeof value);
  }
}

function encodeNumber(value) {
  // 3 and 3.0 are one number here. Of a larger integer the text has as few digits as tell it from its neighbours, and
  // zeros; beyond 1e21 it has an exponent, and is read as the float that it is.
  if (isInteger(value) && !isSafeInteger(value) && -1e21 < value && value < 1e21) return encodeBigInt(toBigInt(value));
  if (isInteger(value) || isFinite(value)) return `${value}`;
  return value !== value ? '{"f":"nan"}' : value > 0 ? '{"f":"inf"}' : '{"f":"-inf"}';
}

function encodeBigInt(value) {
  if (-SMALL < value && value < SMALL) return `${value}`;
  return value < 0n ? `{"i":"-0x${apply(toString, -value, [16])}"}` : `{"i":"0x${apply(toString, value, [16])}"}`;
}

function encodeObject(value, depth, counted) {
  let text = '';
  const add = (piece) => {
    text += text === '' ? piece : `,${piece}`;
  };
  if (isArray(value) || isTypedArray(value)) {
    const { length } = isArray(value) ? value : { length: apply(lengthOf, value, []) };
    for (let i = 0; i < length; i += 1) add(encodeAt(value[i], depth, counted));
    return `[${text}]`;
  }
  const pair = (item, key) => add(`[${encodeAt(key, depth, counted)},${encodeAt(item, depth, counted)}]`);
  if (isMap(value)) {
    apply(forEachOfMap, value, [pair]);
    return `{"d":[${text}]}`;
  }
  if (isSet(value)) {
    apply(forEachOfSet, value, [(item) => add(encodeAt(item, depth, counted))]);
    return `{"s":[${text}]}`;
  }
  if (isDate(value)) return stringify(apply(toISOString, value, []));
  if (isPromise(value)) return standIn('Promise');
  const names = keys(value);
  for (let i = 0; i < names.length; i += 1) {
    const item = value[names[i]];
    // As in JSON.
    if (item !== undefined && typeof item !== 'function' && typeof item !== 'symbol') pair(item, names[i]);
  }
  return `{"d":[${text}]}`;
}

module.exports = { decode, encode };
