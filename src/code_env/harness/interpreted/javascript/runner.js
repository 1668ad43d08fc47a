// What tests beside an answer have as `node:test`: its functions, without its reports.
//
// Node's own runner needs hooks on promises, which nobody has beside tests, and it lives in a module that the answer
// can require too. This one is the tests' alone. They run one after another; what fails, or does not end, is told at
// the end.

'use strict';

const { headline } = require('./errors.js');

const { apply } = Reflect;
const { assign, freeze } = Object;
const { stringify } = JSON;
const PromiseClass = Promise;
const { setImmediate } = global;
const KINDS = ['before', 'after', 'beforeEach', 'afterEach'];

// Returns a list to which things can be added. An answer can change what arrays inherit.
function makeList() {
  return { __proto__: null, length: 0 };
}

function add(list, item) {
  list[list.length] = item;
  list.length += 1;
}

// Calls a function as Node calls tests and hooks: one with two parameters gets a function to call when it is done.
function call(run, context) {
  if (run.length < 2) return apply(run, context, [context]);
  return new PromiseClass((resolve, reject) => {
    apply(run, context, [context, (error) => (error === undefined || error === null ? resolve() : reject(error))]);
  });
}

// Runs a hook `before` of what has begun already, at once, and returns what waits for it.
function begun(run, context) {
  const started = (async () => call(run, context))();
  return () => started;
}

// Returns the arguments of `test` and `describe`, all of which can be left out.
function read(args) {
  const found = { __proto__: null, name: '<anonymous>', options: {}, run: () => {} };
  for (let i = 0; i < args.length; i += 1) {
    const one = args[i];
    if (typeof one === 'string') found.name = one;
    else if (typeof one === 'function') {
      if (found.name === '<anonymous>' && one.name !== '') found.name = one.name;
      found.run = one;
    } else if (typeof one === 'object' && one !== null) found.options = one;
  }
  return found;
}

// Returns the module, and a function that says at the end what has failed; null if nothing has.
function makeRunner(assert) {
  const { mock } = require('node:test');
  const Mock = mock?.constructor; // Node 18 may have none.
  const makeMock = () => (Mock === undefined ? undefined : new Mock());
  let firstFailure = null;
  let open = 0; // tests that have not ended

  const makeNode = (parent, name) => {
    const hooks = { __proto__: null };
    for (const kind of KINDS) hooks[kind] = makeList();
    const fullName = parent === null || parent.parent === null ? name : `${parent.fullName} > ${name}`;
    const children = makeList();
    return { __proto__: null, parent, name, fullName, hooks, children, begun: 0, isReady: false, draining: null };
  };
  const root = makeNode(null, '');
  root.context = {};
  let current = root; // the suite that declares its tests, or the test that runs: what is declared now belongs to it

  const fail = (node, error) => {
    firstFailure ??= `the test ${stringify(node.fullName)} failed: ${headline(error)}`;
  };

  const runHooks = async (list, context) => {
    for (let i = 0; i < list.length; i += 1) await call(list[i], context);
  };

  const runEach = async (kind, node, context) => {
    if (node === null) return;
    if (kind === 'beforeEach') await runEach(kind, node.parent, context);
    await runHooks(node.hooks[kind], context);
    if (kind === 'afterEach') await runEach(kind, node.parent, context);
  };

  const prepared = async (node) => {
    if (node.parent !== null) await prepared(node.parent);
    if (node.isReady) return;
    node.isReady = true;
    await runHooks(node.hooks.before, node.context);
  };

  // Runs what is declared in a node and has not begun, one after another.
  const drain = async (node) => {
    // Node begins when the code that declares the tests has run.
    await (node === root ? new PromiseClass((resolve) => apply(setImmediate, undefined, [resolve])) : null);
    while (node.begun < node.children.length) {
      const child = node.children[node.begun];
      node.begun += 1;
      await child();
    }
    node.draining = null;
    if (node === root && open === 0) await endRun();
  };

  // The hooks `after` of the whole run come when all tests have ended that were declared.
  const endRun = async () => {
    const list = root.hooks.after;
    root.hooks.after = makeList();
    open += 1;
    try {
      await runHooks(list, root.context);
    } catch (error) {
      fail(root, error);
    }
    open -= 1;
  };

  const enqueue = (parent, task) => {
    const done = new PromiseClass((resolve) => {
      open += 1;
      add(parent.children, async () => {
        await task();
        open -= 1;
        resolve();
      });
    });
    parent.draining ??= drain(parent);
    return done;
  };

  const wait = async (node) => {
    while (node.draining !== null) await node.draining;
  };

  const contextOf = (node, options) => {
    const own = makeMock();
    const context = { name: node.name, fullName: node.fullName, mock: own, assert };
    for (const name of ['diagnostic', 'plan', 'runOnly', 'skip']) context[name] = () => {};
    context.todo = () => {
      options.isTodo = true;
    };
    for (const kind of KINDS) {
      context[kind] = (run) => add(node.hooks[kind], kind === 'before' ? begun(run, context) : run);
    }
    context.test = (...args) => declareTest(node, read(args));
    return context;
  };

  const declareTest = (parent, { name, options, run }) => {
    const isLeftOut = Boolean(options.skip);
    const state = { __proto__: null, isTodo: Boolean(options.todo) };
    const node = makeNode(parent, name);
    return enqueue(parent, async () => {
      if (isLeftOut) return;
      const before = firstFailure;
      const outer = current;
      node.context = contextOf(node, state);
      try {
        await prepared(parent);
        try {
          await runEach('beforeEach', parent, node.context);
          current = node;
          await call(run, node.context);
          await wait(node);
        } finally {
          current = outer;
          await runEach('afterEach', parent, node.context);
          await runHooks(node.hooks.after, node.context);
        }
      } catch (error) {
        fail(node, error);
      }
      node.context.mock?.reset();
      if (state.isTodo) firstFailure = before;
    });
  };

  const declareSuite = (parent, { name, options, run }) => {
    const node = makeNode(parent, name);
    node.context = { name, fullName: node.fullName };
    const isLeftOut = Boolean(options.skip);
    const isTodo = Boolean(options.todo);
    if (isLeftOut) return enqueue(parent, async () => {});
    const outer = current;
    current = node;
    // The tests in it wait for the suite's turn.
    let begin;
    node.draining = new PromiseClass((resolve) => {
      begin = resolve;
    });
    let declared;
    try {
      declared = run.length < 2 ? apply(run, node.context, [node.context]) : call(run, node.context);
    } catch (error) {
      fail(node, error);
    } finally {
      current = outer;
    }
    return enqueue(parent, async () => {
      const before = firstFailure;
      try {
        await declared;
        begin();
        node.draining = drain(node);
        await wait(node);
        if (node.isReady) await runHooks(node.hooks.after, node.context);
      } catch (error) {
        fail(node, error);
      }
      if (isTodo) firstFailure = before;
    });
  };

  const withForms = (declare) => {
    const plain = (...args) => declare(current, read(args));
    const form = (key) => (...args) => {
      const found = read(args);
      return declare(current, { __proto__: null, ...found, options: { ...found.options, [key]: true } });
    };
    for (const key of ['skip', 'todo', 'only']) plain[key] = form(key);
    return plain;
  };

  const test = withForms(declareTest);
  const suite = withForms(declareSuite);
  assign(test, { test, it: withForms(declareTest), describe: suite, suite, mock: makeMock() });
  for (const kind of KINDS) {
    const isNow = () => kind === 'before' && current === root;
    test[kind] = (run) => add(current.hooks[kind], isNow() ? begun(run, root.context) : run);
  }
  for (const one of [test, test.it, suite]) freeze(one);

  const failure = () => firstFailure ?? (open > 0 ? 'not all tests came to an end' : null);

  return { test, failure };
}

module.exports = { makeRunner };
