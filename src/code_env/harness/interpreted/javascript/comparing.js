// Holds values still while `assert` compares them deeply.
//
// Node's comparison believes what values say: a Proxy of an array that only knows its length, or a Map with methods of
// its own, would equal whatever is expected. So these are refused. Accessors can say one thing to this check and
// another to the comparison. So what they return is read once, and stands in their place until the comparison is over.
// It runs no code of the answer then, and what was checked is what is compared.

'use strict';

const { types } = require('util');

const { isArrayBufferView, isMap, isNativeError, isProxy, isSet, isTypedArray } = types;
const { apply, defineProperty, deleteProperty, get, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
const { hasOwn } = Object;
const { isArray } = Array;
const SeenSet = Set;
const WrongType = TypeError;

const { add, has } = Set.prototype;
const ofTypedArrays = getPrototypeOf(Uint8Array.prototype);
// What the comparison asks of values whose content is inside, and where the answer to it must come from.
const KINDS = [
  { is: isMap, of: Map.prototype, each: Map.prototype.forEach, used: [Symbol.iterator, 'size', 'has', 'get'] },
  { is: isSet, of: Set.prototype, each: Set.prototype.forEach, used: [Symbol.iterator, 'size', 'has'] },
  { is: isTypedArray, of: ofTypedArrays, each: null, used: ['buffer', 'byteLength', 'byteOffset', 'length'] },
  { is: isArrayBufferView, of: DataView.prototype, each: null, used: ['buffer', 'byteLength', 'byteOffset'] },
];
for (const kind of KINDS) Object.setPrototypeOf(kind, null);

// Of what has the tag of a plain object, the comparison looks at the keys only, and these hold more.
const MORE_THAN_KEYS = [types.isDate, types.isRegExp, isNativeError, types.isBoxedPrimitive];
MORE_THAN_KEYS.push(isMap, isSet, types.isAnyArrayBuffer, isArrayBufferView);
const { prototype: ofErrors } = Error;
const OF_ERRORS = ['name', 'message', 'cause', 'errors'];
const MOST_LOOKS = 9;
const PROXY = 'it holds a Proxy, which can say anything of itself; compare a copy';
const DISGUISED = 'it holds a Map, a Set or a typed array with methods of its own';
const TAGGED = 'it holds what has the tag of a plain object and is none';
const FIXED = 'it holds an accessor, or a size of an array, that cannot be held still; compare a copy';

// Returns the object in the prototype chain that a property comes from.
function owner(value, key) {
  let one = value;
  while (one !== null && !hasOwn(one, key)) {
    one = getPrototypeOf(one);
    if (one !== null && isProxy(one)) throw new WrongType(PROXY);
  }
  return one;
}

// Returns whether the comparison takes a value for an error, as it does with all that inherits from those.
function isError(value) {
  if (isNativeError(value)) return true;
  for (let one = value; one !== null; one = getPrototypeOf(one)) {
    if (isProxy(one)) throw new WrongType(PROXY);
    if (one === ofErrors) return true;
  }
  return false;
}

// Returns `hold`, which puts a value in the place of a property and says whether it could, and `release`, which puts
// everything back.
function makeHold() {
  let held = null; // A chain of objects, because an array inherits what an answer can change.
  const hold = (object, key, value, enumerable) => {
    const was = getOwnPropertyDescriptor(object, key);
    if (was !== undefined) setPrototypeOf(was, null); // An answer can give what it inherits a `get`.
    const fixed = { __proto__: null, value, enumerable, writable: true, configurable: true };
    if (!defineProperty(object, key, fixed)) return false;
    held = { __proto__: null, object, key, was, next: held };
    return true;
  };
  const release = () => {
    for (; held !== null; held = held.next) {
      if (held.was === undefined) deleteProperty(held.object, held.key);
      else defineProperty(held.object, held.key, held.was);
    }
  };
  return { hold, release };
}

// Returns what a comparison of these values must call when it is over. Throws an error if a value can mislead it.
function holdStill(...values) {
  const { hold, release } = makeHold();
  let waiting = null; // A chain of the values to look at.
  let seen;
  let hasRun = true; // Whether an accessor has run.
  const meet = (value) => {
    if (typeof value !== 'object' || value === null || apply(has, seen, [value])) return;
    if (isProxy(value)) throw new WrongType(PROXY);
    apply(add, seen, [value]);
    waiting = { __proto__: null, value, next: waiting };
  };
  // Reads an accessor, and puts what it returned in its place.
  const read = (object, key, enumerable) => {
    hasRun = true;
    const value = get(object, key);
    if (!hold(object, key, value, enumerable)) throw new WrongType(FIXED);
    return value;
  };
  // Returns the value of a property that the comparison looks up by itself. Where it comes from typed arrays, it is an
  // accessor of JavaScript's own, and stays.
  const settle = (object, key) => {
    const from = owner(object, key);
    if (from === null || from === ofTypedArrays) return undefined;
    const property = getOwnPropertyDescriptor(from, key);
    return hasOwn(property, 'value') ? property.value : read(object, key, from === object && property.enumerable);
  };
  // Of arrays with no other keys the comparison asks for a size, and takes those of size 0 for empty.
  const hideSize = (list) => {
    const from = owner(list, 'size');
    if (from === null) return;
    const { value, get: getter, enumerable } = getOwnPropertyDescriptor(from, 'size');
    if ((getter === undefined && value !== 0) || (from === list && enumerable)) return;
    const isHidden = hold(from, 'size', undefined, enumerable) || hold(list, 'size', undefined, false);
    if (!isHidden) throw new WrongType(FIXED);
  };
  const look = (value) => {
    if (settle(value, Symbol.toStringTag) === 'Object') {
      for (let i = 0; i < MORE_THAN_KEYS.length; i += 1) if (MORE_THAN_KEYS[i](value)) throw new WrongType(TAGGED);
    }
    if (isArray(value)) hideSize(value);
    else {
      for (let i = 0; i < KINDS.length; i += 1) {
        const { is, of, each, used } = KINDS[i];
        if (!is(value)) continue;
        for (let j = 0; j < used.length; j += 1) {
          if (owner(value, used[j]) !== of) throw new WrongType(DISGUISED);
        }
        if (each === null) return; // It holds numbers; to list their keys would take long.
        apply(each, value, [(item, key) => (meet(item), meet(key))]);
        break;
      }
      if (isError(value)) for (let i = 0; i < OF_ERRORS.length; i += 1) meet(settle(value, OF_ERRORS[i]));
    }
    const keys = ownKeys(value);
    for (let i = 0; i < keys.length; i += 1) {
      const property = getOwnPropertyDescriptor(value, keys[i]);
      if (property.enumerable) meet(hasOwn(property, 'value') ? property.value : read(value, keys[i], true));
    }
  };
  try {
    // An accessor can change what was looked at before. The second time, no accessor is left, unless one has added it.
    for (let i = 0; hasRun; i += 1) {
      if (i > MOST_LOOKS) throw new WrongType(FIXED);
      hasRun = false;
      seen = new SeenSet();
      for (let j = 0; j < values.length; j += 1) meet(values[j]);
      while (waiting !== null) {
        const { value } = waiting;
        waiting = waiting.next;
        look(value);
      }
    }
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

module.exports = { holdStill };
