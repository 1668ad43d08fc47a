// Checks whether a value holds a Map or a Set that hides its content. `assert` compares Maps and Sets with methods that
// the answer can have overridden. The check does not look behind accessors and Proxies.

'use strict';

const { isMap, isProxy, isSet } = require('util').types;
const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;

const KINDS = [
  { __proto__: null, is: isMap, prototype: Map.prototype, forEach: Map.prototype.forEach, used: [Symbol.iterator, 'size', 'has', 'get'] },
  { __proto__: null, is: isSet, prototype: Set.prototype, forEach: Set.prototype.forEach, used: [Symbol.iterator, 'size', 'has'] },
];
const { add, has } = Set.prototype;
const sizeOf = getOwnPropertyDescriptor(Set.prototype, 'size').get;
const MOST = 10_000; // values that are checked

// Returns the object in the prototype chain that a property comes from.
function owner(value, key) {
  for (let one = value; one !== null; one = getPrototypeOf(one)) {
    if (isProxy(one) || getOwnPropertyDescriptor(one, key) !== undefined) return one;
  }
  return null;
}

function holdsDisguised(value, seen) {
  if (typeof value !== 'object' || value === null || isProxy(value)) return false;
  if (apply(has, seen, [value]) || apply(sizeOf, seen, []) >= MOST) return false;
  apply(add, seen, [value]);
  for (let i = 0; i < KINDS.length; i += 1) {
    const { is, prototype, forEach, used } = KINDS[i];
    if (!is(value)) continue;
    for (let j = 0; j < used.length; j += 1) {
      if (owner(value, used[j]) !== prototype) return true;
    }
    let found = false;
    apply(forEach, value, [(item, key) => (found = found || holdsDisguised(item, seen) || holdsDisguised(key, seen))]);
    if (found) return true;
  }
  const names = ownKeys(value);
  for (let i = 0; i < names.length && i < MOST; i += 1) {
    if (holdsDisguised(getOwnPropertyDescriptor(value, names[i])?.value, seen)) return true;
  }
  return false;
}

module.exports = { holdsDisguised };
