// Compiles an answer and loads it, so that its functions can be found by name.
//
// The answer is a CommonJS script. If it cannot be a script, but what stands in the way is allowed in a module, it is an
// ES module; Node decides in a similar way. Other code cannot reach the answer's top-level names, exported or not. Only
// code in the same scope can. So one line, which looks up a name, is added after the answer's last line, or before its
// first where the answer can return before its last. The answer can choose what this line finds.

'use strict';

const fs = require('fs');
const Module = require('module');
const path = require('path');
const { pathToFileURL } = require('url');
const vm = require('vm');

const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname'];
const MODULE_PROBLEM = new RegExp(
  "Unexpected token '(import|export)'|Cannot use 'import.meta'|await is only valid in async functions and the top level" +
    `|Unexpected reserved word|Identifier '(${PARAMETERS.join('|')})' has already been declared`,
);
const MODULE_STATEMENT = /^[ \t]*(import|export)\b/m;
const LOOK_UP = '($look_up) => eval($look_up)';
const IS_STRICT = /^(?:\s|\/\/.*|\/\*[^]*?\*\/)*(['"])use strict\1/;
const IS_CLASS = /^class\b/;

const { hasOwn } = Object;
const { apply, construct, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const ObjectClass = Object;
const { prototype: ofObjects } = Object;
const { toString: toText } = Function.prototype;
const { exec } = RegExp.prototype;

const builtIn = { __proto__: null };
for (const object of [ofObjects, globalThis]) {
  for (const key of ownKeys(object)) builtIn[key] = getOwnPropertyDescriptor(object, key).value;
}

// Returns why a source does not compile as a script; null if it does.
function scriptProblem(source, filename) {
  try {
    vm.compileFunction(source.replace(/^#!/, '//'), PARAMETERS, { filename });
    return null;
  } catch (error) {
    return error;
  }
}

// Returns whether a source that is no script can be a module. For an `await` in the middle of an expression, the problem
// can have any text.
function canBeModule(source, { message }) {
  if (MODULE_PROBLEM.test(message) || MODULE_STATEMENT.test(source)) return true;
  return /\bawait\b/.test(source) && scriptProblem(`async () => {${source}\n}`) === null;
}

function isModule(source, filename) {
  const problem = scriptProblem(source, filename);
  return problem !== null && canBeModule(source, problem);
}

// Returns why a source does not compile; null if it does. Errors in a module show only when it is loaded.
function compile(source, filename) {
  const problem = scriptProblem(source, filename);
  return problem === null || canBeModule(source, problem) ? null : problem;
}

async function loadModule(source, filename) {
  const file = filename.replace(/\.js$/, '.mjs');
  fs.writeFileSync(file, `${source}\nexport const $look_up = ${LOOK_UP};\n`);
  const names = await import(pathToFileURL(file).href);
  return { lookUp: names.$look_up, exported: names };
}

function loadScript(source, filename) {
  const script = new Module(filename, null);
  script.filename = filename;
  script.paths = Module._nodeModulePaths(path.dirname(filename));
  const text = source.replace(/^#!/, '//');
  if (!canReturn(text)) {
    const lookUp = script._compile(`${text}\n;return ${LOOK_UP};`, filename);
    return { lookUp, exported: script.exports };
  }
  // `arguments[2]` is `module`. What is written before a directive would make it an ordinary text.
  script._compile(`${IS_STRICT.test(text) ? "'use strict';" : ''}arguments[2].lookUp = ${LOOK_UP};${text}`, filename);
  return { lookUp: script.lookUp, exported: script.exports };
}

// Returns whether a script has a `return` outside its functions.
function canReturn(source) {
  try {
    new vm.Script(source);
    return false;
  } catch ({ message }) {
    return message === 'Illegal return statement';
  }
}

// Returns what a name means in an answer, or `undefined`: the top-level name, else the export with this name, else,
// with `alone`, the only function that is exported without a name. What JavaScript itself has under this name does not
// count.
function find({ lookUp, exported }, name, alone) {
  if (typeof lookUp === 'function') {
    try {
      const found = lookUp(name);
      if (found !== undefined && found !== builtIn[name]) return found;
    } catch {
      // The name does not exist.
    }
  }
  if (typeof exported === 'object' && exported !== null && hasOwn(exported, name)) return exported[name];
  const only = typeof exported === 'function' ? exported : exported?.default;
  if (typeof only === 'function') return hasOwn(only, name) ? only[name] : alone ? only : undefined;
  return alone && typeof only === 'object' && only !== null ? only[name] : undefined;
}

// Returns whether a script or a module has a variable of this name at its top level.
function isBound({ lookUp }, name) {
  if (typeof lookUp !== 'function' || hasOwn(builtIn, name)) return false;
  try {
    lookUp(name);
    return true;
  } catch {
    return false;
  }
}

// Returns what assigns to a variable at the top level. It raises an error if that is a `const`.
function setterOf({ lookUp }, name) {
  return lookUp(`($value) => { ${name} = $value; }`);
}

// Returns the function of an entry point: `name`, or `Class.method`. A method is called on a new instance for each
// call, a static method on the class itself.
function entryPoint(program, name) {
  const dot = name.indexOf('.');
  const found = find(program, dot < 0 ? name : name.slice(0, dot), dot < 0);
  if (dot < 0) {
    // A method of a class `Solution`, or of the only exported class, is accepted where a function was asked for.
    const kind = found ?? find(program, 'Solution', false);
    return hasMethod(kind?.prototype, name) || (isClass(kind) && kind.name !== name && makes(kind, name)) ? onNew(kind, name) : found;
  }
  const method = name.slice(dot + 1);
  if (typeof found === 'function' && hasMethod(found.prototype, method)) return onNew(found, method);
  if (typeof found?.[method] === 'function') return (...args) => apply(found[method], found, args);
  if (typeof found === 'function' && makes(found, method)) return onNew(found, method);
  // If there is no class of this name, another one that is exported alone is accepted, and a plain function.
  const other = find(program, method, true);
  return hasMethod(other?.prototype, method) || (isClass(other) && makes(other, method)) ? onNew(other, method) : other;
}

// Returns whether something can only be called with `new`. Of what begins like a class, nothing else can be called so.
function isClass(value) {
  if (typeof value !== 'function' || apply(exec, IS_CLASS, [apply(toText, value, [])]) === null) return false;
  try {
    construct(ObjectClass, [], value);
    return true;
  } catch {
    return false;
  }
}

// Returns whether a new instance has a method as a field of its own. Only an instance can tell.
function makes(kind, method) {
  try {
    return typeof new kind()[method] === 'function';
  } catch {
    return false;
  }
}

// Returns whether an object has a method that not every object has.
function hasMethod(object, name) {
  for (let one = object ?? null; one !== null && one !== ofObjects; one = getPrototypeOf(one)) {
    if (hasOwn(one, name)) return typeof object[name] === 'function';
  }
  return false;
}

function onNew(kind, method) {
  return (...args) => {
    const instance = new kind();
    return apply(instance[method], instance, args);
  };
}

module.exports = { compile, entryPoint, find, isBound, isClass, isModule, loadModule, loadScript, setterOf };
