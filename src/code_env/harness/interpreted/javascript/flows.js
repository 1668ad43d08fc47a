// Tells whether tests that do not await still wait for something when nothing is left to run.
//
// Tests often run in an async function that they call, as `(async () => { ... })()`, and do not await. If the answer
// gives such a function a promise that never settles, Node ends without an error, and what would come next is not
// tested.
//
// So V8 notes the promises of the tests' async functions that the top level of the tests calls, and not the answer. But
// honest tests also have functions that never end, such as one that empties a queue. The last one that was called is
// the one that tests, and it is left out if it shows that it has no end.

'use strict';

const { promiseHooks } = require('v8');
const { inspect } = require('util');
const { sitesOfCallers } = require('./shields.js');

const { apply } = Reflect;
const { startsWith } = String.prototype;
const { onInit } = promiseHooks;

const MOST_LOOKS = 1000; // each takes some microseconds
const DEEPEST = 100; // frames
const MOST_CASES = 200;

const LOOP = /\bfor\s*\(\s*;\s*;|\bwhile\s*\(\s*(?:true|1)\s*\)/;
const LEAVES = /\b(?:break|return|throw)\b/;
const NEVER = /\bnew\s+Promise\s*\(\s*(?:(?:\(\s*[\w$]*\s*\)|[\w$]+)\s*=>|function\s*\(\s*\))\s*\{\s*\}\s*\)/;
const QUOTED = /(['"])(?:\\.|(?!\1)[^\\\n])*\1|\/\/[^\n]*|\/\*[^]*?\*\//g;
const IN_NODE = 'node:';
const MICROTASKS = 'processTicksAndRejections';
const PENDING = 'Promise { <pending>';
// All that an answer can set otherwise, in `inspect.defaultOptions`.
const SHOWN = { __proto__: null, depth: 0, customInspect: false, colors: false, compact: 3, breakLength: Infinity };
Object.assign(SHOWN, { showHidden: false, showProxy: false, sorted: false, getters: false, numericSeparator: false });

// Returns the text of the function that begins in this place. The text must have nothing in quotes.
function functionAt(text, start) {
  let depth = 0;
  for (let i = start; i < text.length; i += 1) {
    const sign = text[i];
    if (sign === '(' || sign === '[' || sign === '{') depth += 1;
    else if (sign === ')' || sign === ']' || sign === '}') depth -= 1;
    if (depth < 0 || (depth === 0 && (sign === ';' || sign === '}'))) return text.slice(start, i);
  }
  return text.slice(start);
}

// Returns whether an async function of this text never ends by itself: it is a loop without a way out, or waits for
// nothing but a promise that nobody settles.
function isEndless(text) {
  if (LOOP.test(text)) return !LEAVES.test(text);
  return NEVER.test(text) && !(text.match(/\bawait\b/g)?.length > 1);
}

// Notes the flows of tests with this text. `isInAnswer` says whether a function of the answer runs that the tests have
// called by its name. Returns functions: `start` and `stop` stand around the tests' top level; `noteCase` is called
// when a case is reached; `isWaiting` says at the end whether the tests still wait.
function watchFlows(text, isInAnswer) {
  const endless = { __proto__: null };
  const bare = text.replace(QUOTED, (quoted) => ' '.repeat(quoted.length));
  for (const { index } of bare.matchAll(/\basync\b/g)) endless[index] = isEndless(functionAt(bare, index));

  let stopHook = null;
  let hash = null; // V8's name for the script, which nobody else can have: it is made from a text that holds a secret.
  let root = null; // the place of the tests' own top level
  let looks = 0;
  let last = null; // the place of the flow that was called last
  let flows = null; // a chain of flows; an answer can change what arrays inherit
  let isCalled = false; // whether the tests have reached a case in a timer, or when they end
  let isOver = false; // whether the top level has run
  let isBlind = false; // whether the answer keeps V8 from showing who calls whom
  let later = 0;
  const places = { __proto__: null }; // those of async functions

  // An old V8 may not.
  const canTell = ({ getScriptHash, getEnclosingColumnNumber }) => getScriptHash && getEnclosingColumnNumber;
  const placeOf = (site) => `${site.getEnclosingLineNumber()}:${site.getEnclosingColumnNumber()}`;

  // Returns whether the tests' top level has called the function in which these frames begin: not the answer, and no
  // other flow.
  const isOutermost = (sites) => {
    for (let i = 1; i < sites.length; i += 1) {
      const of = sites[i].getScriptHash();
      if (of === '') continue; // a function of JavaScript's own
      if (of !== hash) return false;
      const place = placeOf(sites[i]);
      if (place === root) return true;
      if (places[place]) return false;
    }
    return false;
  };

  const note = (promise, parent) => {
    if (parent !== undefined || isInAnswer()) return;
    looks += 1;
    if (looks > MOST_LOOKS) return;
    const sites = sitesOfCallers(DEEPEST, note);
    if (sites === null) isBlind = true;
    if (sites === null || sites.length === 0 || !canTell(sites[0])) return;
    if (hash === null) {
      hash = sites[0].getScriptHash();
      root = placeOf(sites[0]);
      return;
    }
    if (sites[0].getScriptHash() !== hash) return;
    const place = placeOf(sites[0]);
    if (place === root) return;
    places[place] = true;
    if (!isOutermost(sites) || endless[sites[0].getEnclosingColumnNumber() - 1]) return;
    last = place;
    flows = { __proto__: null, promise, place, next: flows };
  };

  const start = () => {
    stopHook = apply(onInit, promiseHooks, [note]);
  };

  const isPending = (promise) => apply(startsWith, inspect(promise, SHOWN), [PENDING]);

  // Gets the promise of the tests' top level. Tests that await there have their flow in it.
  const stop = (promise) => {
    stopHook();
    isOver = true;
    if (isPending(promise)) flows = null;
  };

  // Tests that look from a timer, or at their end, do not rest on a flow that never ends.
  const noteCase = () => {
    if (flows === null || !isOver || isCalled || later > MOST_CASES) return;
    later += 1;
    const sites = sitesOfCallers(DEEPEST, noteCase);
    if (sites === null || sites.length === 0) return;
    const first = sites[sites.length - 1];
    for (let i = 0; i < sites.length; i += 1) {
      if (sites[i].getScriptHash() === hash && (placeOf(sites[i]) === root || places[placeOf(sites[i])])) return;
    }
    isCalled = apply(startsWith, `${first.getFileName()}`, [IN_NODE]) && first.getFunctionName() !== MICROTASKS;
  };

  const isWaiting = () => {
    if (isBlind) return true;
    for (let one = flows; one !== null && !isCalled; one = one.next) {
      if (one.place === last && isPending(one.promise)) return true;
    }
    return false;
  };

  return { start, stop, noteCase, isWaiting };
}

module.exports = { watchFlows };
