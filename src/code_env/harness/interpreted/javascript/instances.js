// Finds the prototypes of Node that no name leads to, only an object: those of iterators, readers, timers, and of the
// native parts of streams and hashes.
//
// An answer can make such an object and change what it inherits, and tests compare with objects of the same kind. So an
// object of each kind that the text of the tests leads to is made before the answer runs. Other texts pay nothing.

'use strict';

const { types } = require('util');

const { getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;

const DEPTH = 3; // as far as from a stream to the list of what waits in it
const STREAMS = ['Readable', 'Writable', 'Duplex', 'Transform', 'PassThrough'];
const WEB_STREAMS = ['ReadableStream', 'WritableStream', 'TransformStream', 'CompressionStream', 'DecompressionStream'];
WEB_STREAMS.push('TextEncoderStream', 'TextDecoderStream');
const PARTS_OF_STREAMS = ['ReadableStreamDefaultReader', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest'];
PARTS_OF_STREAMS.push('ReadableStreamDefaultController', 'ReadableByteStreamController', 'WritableStreamDefaultWriter');
PARTS_OF_STREAMS.push('WritableStreamDefaultController', 'TransformStreamDefaultController');
const PERFORMANCE = ['PerformanceEntry', 'PerformanceMark', 'PerformanceMeasure', 'PerformanceObserver'];
const KEYS = ['KeyObject', 'createSecretKey', 'createPublicKey', 'createPrivateKey', 'generateKey', 'generateKeySync'];
KEYS.push('generateKeyPair', 'generateKeyPairSync');
const KEY = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
const PRIVATE_KEY = { ...KEY, d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A' };

// Each leads from words in a text to other names, whose values tests can meet without naming them, and to objects.
const LEADS = [
  { from: ['URL', 'URLSearchParams', 'searchParams'], make: () => [new URLSearchParams().entries()] },
  { from: ['Response', 'Request'], to: ['Headers', 'FormData', 'Blob', 'Response', 'Request', 'AbortSignal'] },
  { from: ['Headers', 'Response', 'Request'], make: () => [new Headers().entries()] },
  { from: ['FormData', 'Response', 'Request'], to: ['File'], make: () => [new FormData().entries()] },
  { from: ['Segmenter'], make: () => partsOf(new Intl.Segmenter('en').segment('a')) },
  { from: ['subtle', 'webcrypto'], to: ['Crypto', 'CryptoKey', 'SubtleCrypto'] },
  { from: ['AbortController', 'AbortSignal', 'signal'], to: ['AbortController', 'AbortSignal'] },
  { from: ['Blob', 'File', 'Response', 'Request', 'openAsBlob'], make: () => partsOfBlob(new Blob(['a'])) },
  {
    from: [...WEB_STREAMS, 'getReader', 'getWriter', 'toWeb', 'Blob', 'File', 'Response', 'Request'],
    to: [...WEB_STREAMS, ...PARTS_OF_STREAMS],
    make: () => [new ReadableStream(), new ReadableStream().values(), new WritableStream(), new TransformStream()],
  },
  { from: ['MessageChannel', 'MessagePort'], to: ['MessagePort', 'MessageEvent'], make: () => closedPorts(new MessageChannel()) },
  { from: ['BroadcastChannel'], to: ['MessagePort', 'MessageEvent'] },
  { from: ['setTimeout', 'setInterval', 'hasRef', 'refresh'], make: () => [endedTimer()] },
  { from: ['setImmediate'], make: () => [endedImmediate()] },
  { from: ['mark', 'measure', 'getEntries', 'getEntriesByName', 'getEntriesByType', ...PERFORMANCE], to: PERFORMANCE },
  { from: ['createHistogram'], make: () => [require('perf_hooks').createHistogram()] },
  { from: ['createReadStream', 'createWriteStream'], to: ['ReadStream', 'WriteStream'] },
  {
    from: [...STREAMS, 'ReadStream', 'WriteStream', 'createReadStream', 'createWriteStream', 'stream', 'streams', 'zlib'],
    make: () => classesOfStreams(),
  },
  { from: ['readline', 'createInterface', 'child_process', 'spawn', 'http', 'net'], make: () => classesOfStreams() },
  { from: ['zlib'], module: 'zlib', make: ({ createGunzip }) => [createGunzip()] },
  { from: ['brotliCompress', 'brotliCompressSync', 'createBrotliCompress'], module: 'zlib', make: ({ createBrotliCompress: make }) => [make()] },
  {
    from: ['brotliDecompress', 'brotliDecompressSync', 'createBrotliDecompress'],
    module: 'zlib',
    make: ({ createBrotliDecompress }) => [createBrotliDecompress()],
  },
  { from: ['zstdCompress', 'zstdCompressSync', 'createZstdCompress'], module: 'zlib', make: ({ createZstdCompress }) => [createZstdCompress()] },
  {
    from: ['zstdDecompress', 'zstdDecompressSync', 'createZstdDecompress'],
    module: 'zlib',
    make: ({ createZstdDecompress }) => [createZstdDecompress()],
  },
  { from: ['createHash', 'Hash', 'hash'], module: 'crypto', make: ({ createHash }) => [createHash('sha1')] },
  { from: ['createHmac', 'Hmac'], module: 'crypto', make: ({ createHmac }) => [createHmac('sha1', 'k')] },
  {
    from: ['createCipheriv', 'createDecipheriv'],
    module: 'crypto',
    make: ({ createCipheriv }) => [createCipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(16))],
  },
  { from: ['createSign', 'createVerify'], module: 'crypto', make: ({ createSign, createVerify }) => [createSign('sha1'), createVerify('sha1')] },
  {
    from: [...KEYS, 'export', 'symmetricKeySize', 'asymmetricKeyType'],
    module: 'crypto',
    make: ({ createSecretKey, createPublicKey, createPrivateKey }) => [
      createSecretKey(Buffer.alloc(1)),
      createPublicKey({ key: KEY, format: 'jwk' }),
      createPrivateKey({ key: PRIVATE_KEY, format: 'jwk' }),
    ],
  },
  { from: ['mock'], module: 'node:test', make: ({ mock }) => (mock === undefined ? [] : [mock, mock.timers, mock.fn().mock]) },
  { from: ['bigint', 'stat', 'lstat'], module: 'fs', make: ({ statSync }) => [statSync('.', { bigint: true })] },
  { from: ['promises'], module: 'fs', make: ({ promises }) => fileOf(promises) },
  { from: ['diagnostics_channel'], module: 'diagnostics_channel', make: ({ channel }) => activeChannel(channel('code_env')) },
];

function partsOf(segments) {
  return [segments, segments[Symbol.iterator]()];
}

// The reader of its native part reads what is in it.
function partsOfBlob(blob) {
  const handles = ownKeys(blob).map((key) => blob[key]);
  return [blob, ...handles.map((handle) => handle?.getReader?.())];
}

function closedPorts({ port1, port2 }) {
  port1.close();
  return [port1, port2];
}

function endedTimer() {
  const timer = setTimeout(() => {}, 0);
  clearTimeout(timer);
  return timer;
}

function endedImmediate() {
  const immediate = setImmediate(() => {});
  clearImmediate(immediate);
  return immediate;
}

function classesOfStreams() {
  const stream = require('stream');
  return [...STREAMS.flatMap((name) => [stream[name], stream[name].prototype]), new stream.Transform()];
}

async function fileOf(promises) {
  const file = await promises.open(__filename);
  await file.close();
  return [file];
}

function activeChannel(channel) {
  const listener = () => {};
  channel.subscribe(listener);
  const active = getPrototypeOf(channel);
  channel.unsubscribe(listener);
  return [active, channel];
}

// Adds the prototypes of an object, and of the objects that it holds.
function addPrototypes(value, depth, found, seen) {
  if (typeof value !== 'object' || value === null || types.isProxy(value) || seen.has(value)) return;
  seen.add(value);
  if (value === globalThis || value === process || value === console) return;
  found.add(getPrototypeOf(value));
  if (depth === 0) return;
  for (const key of ownKeys(value)) addPrototypes(getOwnPropertyDescriptor(value, key)?.value, depth - 1, found, seen);
}

// Returns what the text of tests leads to: the names, and the prototypes and classes.
async function ledTo(text) {
  const words = new Set(text.match(/[\w$]+/g));
  const names = new Set();
  const found = new Set();
  const seen = new Set();
  for (const { from, to = [], module, make = () => [] } of LEADS) {
    if (!from.some((word) => words.has(word))) continue;
    if (module !== undefined && !words.has(module.replace('node:', ''))) continue;
    for (const name of to) names.add(name);
    let made;
    try {
      made = await make(module === undefined ? undefined : require(module));
    } catch {
      continue; // This Node has no such objects.
    }
    for (const one of made) {
      if (typeof one === 'function' || Object.hasOwn(one ?? {}, 'constructor')) found.add(one);
      else addPrototypes(one, DEPTH, found, seen);
    }
  }
  found.delete(null);
  return { names: [...names], prototypes: [...found] };
}

module.exports = { ledTo };
