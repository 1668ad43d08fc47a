// The cases of a suite: what was reached, and what failed.
//
// In the tests' text, `$cases[3](assert, 'equal')(...)` stands for `assert.equal(...)`; see tasks/javascript.py. So the
// tests' own `assert` is called, where they have one. For another name that they have given to Node's `assert` or to a
// function of it, a third argument says so, as in `$cases[4](same, null, true)(...)`. In some places they can use this
// name for something else, such as a parameter. That asserts nothing, and is called as it stands.

'use strict';

const { truthy } = require('./assertions.js');
const { text } = require('./errors.js');

const { isPromise } = require('util').types;
const { apply } = Reflect;

// Returns the functions of the cases, which the tests call, and what tells of them. `finish` returns the result of each
// case. `console.assert` has `null` as base. `isOfNode` says whether an `assert`, or a function, is Node's, and not the
// tests' own: only Node's is sure to throw an exception on failure. `noteCase` is called when a case is reached.
function makeCases(sources, sites, isOfNode, noteCase) {
  const records = sources.map((source) => {
    return { __proto__: null, source, ran: false, message: '', open: 0, unfinished: false, hasOwnAssert: false };
  });

  let failures = 0; // how often a case has failed
  const fail = (record, error) => {
    let why = 'it failed';
    try {
      why = text(error.message);
    } catch {
      // The error is an object of the answer.
    }
    if (record.message === '') record.message = `${record.source}: ${why}`;
    failures += 1;
  };

  // An `assert` of the tests' own can call what they take out of Node's, and a failure of that is not thrown.
  const failWithin = (record, check, before) => {
    if (failures > before && !isOfNode(check)) fail(record, { message: 'a case within it failed' });
  };

  const settle = async (record, promise, check, before) => {
    let result;
    try {
      result = await promise;
      failWithin(record, check, before);
    } catch (error) {
      fail(record, error);
    }
    record.open -= 1;
    record.ran = true;
    return result;
  };

  const attempt = (record, check, self, args) => {
    noteCase();
    record.open += 1;
    const before = failures;
    let result;
    try {
      result = apply(check, self, args);
      failWithin(record, check, before);
    } catch (error) {
      fail(record, error);
    }
    if (isPromise(result)) return settle(record, result, check, before);
    record.open -= 1;
    record.ran = true;
    return result;
  };

  const checks = records.map((record) =>
    Object.freeze((base, key, isTaken) => {
      if (base === null && !isTaken) return (value, message) => attempt(record, truthy, undefined, [value, message]);
      const check = (key ?? null) === null ? base : base[key];
      if (isTaken && !isOfNode(base)) {
        return (...args) => {
          record.ran = true;
          return apply(check, key === null ? undefined : base, args);
        };
      }
      const name = key === undefined ? 'assert' : `assert.${key}`;
      if (typeof check !== 'function') throw new TypeError(`${name} is not a function`);
      const ofNode = isOfNode(base);
      record.hasOwnAssert = record.hasOwnAssert || !ofNode;
      return (...args) => attempt(record, check, ofNode || key === undefined ? undefined : base, args);
    }),
  );

  const isFailed = (isAsked) => {
    for (let i = 0; i < records.length; i += 1) if (isAsked(records[i]) && records[i].message !== '') return true;
    return false;
  };

  const finish = (endedBy) => {
    if (sites === 0 && endedBy === null) records[0].ran = true;
    // An `assert` of the tests' own can count failures instead of throwing. Then only the end tells of them.
    const isCounting = endedBy !== null && !isFailed((record) => record.hasOwnAssert);
    for (let i = 0; i < records.length; i += 1) {
      const record = records[i];
      if (record.message !== '') continue;
      if (record.open > 0) {
        record.message = `${record.source}: it did not come to an end`;
        record.unfinished = true;
      } else if (!record.ran) {
        record.message = endedBy === null ? 'not reached' : `not reached: the tests ended early: ${endedBy}`;
      } else if (isCounting && record.hasOwnAssert) {
        record.message = `the tests ended early: ${endedBy}`;
      }
    }
    if (endedBy !== null && !isFailed(() => true)) {
      const last = records[records.length - 1];
      last.message = `the tests ended early: ${endedBy}`;
      last.unfinished = true;
    }
    return records;
  };

  const areReached = () => {
    for (let i = 0; i < records.length; i += 1) {
      if (!records[i].ran || records[i].open > 0) return false;
    }
    return true;
  };

  return { checks: Object.freeze(checks), finish, areReached };
}

module.exports = { makeCases };
