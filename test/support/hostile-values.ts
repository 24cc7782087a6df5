/** Values that no host should send and one day does. Made anew each time, because some of them change as they are read. */
export interface HostileValue {
  readonly name: string
  make(): unknown
}

/** Stands in everything that throws: it must not be found in a line for the person. */
export const PAYLOAD_TEXT = 'words-of-the-user'

export function boom(): never {
  throw new Error(`boom ${PAYLOAD_TEXT}`)
}

const EVERY_TRAP: ProxyHandler<object> = {
  get: boom,
  has: boom,
  set: boom,
  apply: boom,
  construct: boom,
  ownKeys: boom,
  deleteProperty: boom,
  defineProperty: boom,
  getPrototypeOf: boom,
  setPrototypeOf: boom,
  isExtensible: boom,
  preventExtensions: boom,
  getOwnPropertyDescriptor: boom,
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

function circle(): object {
  const value: Record<string, unknown> = { command: 'ls' }
  value['self'] = value
  value['list'] = [value, [value]]
  return value
}

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 'bottom'
  for (let level = 0; level < depth; level += 1) value = wrap(value)
  return value
}

function wide(keys: number): object {
  return Object.fromEntries(Array.from({ length: keys }, (_, index) => [`key${index}`, index]))
}

function* endless(): Generator<number> {
  for (let next = 0; ; next += 1) yield next
}

/** Text, then something else: whoever looks twice is told two things. */
function fickle(): object {
  let reads = 0
  const turns = ['ls', { toString: boom }, undefined, Symbol('fickle')]
  const next = (): unknown => turns[reads++ % turns.length]
  return new Proxy({}, { get: next, ownKeys: () => ['command', 'path'], getOwnPropertyDescriptor: descriptor })
  function descriptor(): PropertyDescriptor {
    return { configurable: true, enumerable: true, value: next() }
  }
}

const entry = (name: string, make: () => unknown): HostileValue => ({ name, make })

const TEXTS: readonly HostileValue[] = [
  entry('an empty text', () => ''),
  entry('blanks', () => ' \t\n\u00a0\u2028 '),
  entry('half a character', () => 'a\ud83d'),
  entry('the other half', () => '\ude00a'),
  entry('halves in the wrong order', () => '\ude00\ud83d'),
  entry('control characters', () => 'a\u0000b\u0007c\u007fd\u0085e\r\nf'),
  entry('terminal sequences', () => '\u001b[31mred\u001b[0m \u001b]0;title\u0007 \u009b2J'),
  entry('an unfinished terminal sequence', () => `x\u001b]8;;${'y'.repeat(500)}`),
  entry('text that runs the other way', () => 'a\u202eb\u2066c\u200f'),
  entry('JSON text that is deep', () => '['.repeat(10_000)),
  entry('JSON text with odd keys', () => '{"__proto__": {"status": "error"}, "status": "ok", "error": {}}'),
  entry('JSON text that is broken', () => '{"status": "error", "error": "x'),
  entry('an URL without sense', () => 'http://[::1:99999/%%%'),
  entry('500 combining marks', () => `a${'\u0301'.repeat(500)}`),
]

const NUMBERS: readonly HostileValue[] = [
  entry('NaN', () => Number.NaN),
  entry('infinity', () => Number.POSITIVE_INFINITY),
  entry('minus infinity', () => Number.NEGATIVE_INFINITY),
  entry('minus zero', () => -0),
  entry('a negative number', () => -1e6),
  entry('a huge number', () => Number.MAX_VALUE),
  entry('a tiny number', () => Number.MIN_VALUE),
  entry('a number beyond the safe ones', () => 2 ** 60),
  entry('a bigint', () => 12n),
  entry('a bigint of a thousand digits', () => 10n ** 1000n),
  entry('a number as text', () => '1e999'),
  entry('a boolean', () => true),
]

const OBJECTS: readonly HostileValue[] = [
  entry('null', () => null),
  entry('an empty object', () => ({})),
  entry('an object without a prototype', () => Object.assign(Object.create(null), { command: 'ls', type: 'T' })),
  entry('an object with __proto__', () =>
    JSON.parse('{"__proto__": {"command": "ls"}, "constructor": 1, "path": "a"}'),
  ),
  entry('a frozen object', () => Object.freeze({ command: 'ls', list: Object.freeze([1]) })),
  entry('a circle', circle),
  entry('a symbol', () => Symbol('s')),
  entry('a function', () => boom),
  entry('a class', () => class Odd {}),
  entry('an invalid date', () => new Date(Number.NaN)),
  entry('a date', () => new Date(0)),
  entry('a regular expression', () => /x/g),
  entry(
    'a map',
    () =>
      new Map<unknown, unknown>([
        ['a', 1],
        [{}, boom],
      ]),
  ),
  entry('a set', () => new Set<unknown>([1, 'a', {}])),
  entry('a weak map', () => new WeakMap()),
  entry('bytes', () => new Uint8Array(1000)),
  entry('floats', () => new Float64Array([Number.NaN, -0])),
  entry('a buffer', () => Buffer.from('buffer')),
  entry('an array buffer', () => new ArrayBuffer(8)),
  entry('a view of a detached buffer', () => {
    const bytes = new Uint8Array(8)
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
    return bytes
  }),
  entry('a promise', () => Promise.resolve('later')),
  entry('an error', () => new TypeError('wrong')),
  entry('an error with a cause that is itself', () => {
    const error = new Error('outer')
    error.cause = error
    return error
  }),
  entry('an error that holds others', () => new AggregateError([new Error('one'), 2, null], 'many')),
  entry('an array with holes', () => Object.assign(new Array(3), { 0: 1, 2: 3 })),
  entry('an array of oddities', () => [undefined, boom, Symbol('s'), Number.NaN, 1n, null, [[]], { a: undefined }]),
  entry('an array that says it is long', () => Object.assign([], { length: 2 ** 32 - 1 })),
  entry('an object that says it is an array', () => ({ length: 2 ** 53, 0: 'a' })),
  entry('boxed values', () => [Object('text'), Object(1), Object(false), Object(1n), Object(Symbol('s'))]),
  entry('a boxed text', () => Object('text')),
]

const THROWERS: readonly HostileValue[] = [
  entry('getters that throw', () =>
    Object.defineProperties(
      { command: 'ls' },
      { a: { get: boom, enumerable: true }, message: { get: boom, enumerable: true } },
    ),
  ),
  entry('every getter throws', () =>
    Object.defineProperties(
      {},
      Object.fromEntries(
        [
          'command',
          'cmd',
          'path',
          'status',
          'error',
          'type',
          'name',
          'message',
          'body',
          'model',
          'content',
          'length',
          'toJSON',
        ].map(key => [key, { get: boom, enumerable: true }]),
      ),
    ),
  ),
  entry('a Proxy of which every trap throws', () => new Proxy({}, EVERY_TRAP)),
  entry('an array Proxy of which every trap throws', () => new Proxy([], EVERY_TRAP)),
  entry('a function Proxy of which every trap throws', () => new Proxy(boom, EVERY_TRAP)),
  entry(
    'a Proxy that throws what is no error',
    () =>
      new Proxy(
        {},
        {
          get: () => {
            throw Symbol('no error')
          },
          ownKeys: () => {
            throw null
          },
        },
      ),
  ),
  entry('a revoked Proxy', () => revoked({})),
  entry('a revoked array', () => revoked([])),
  entry('a revoked function', () => revoked(boom)),
  entry('a list of revoked ones', () => [revoked({}), revoked([]), 'ok']),
  entry('toJSON that throws', () => ({ command: 'ls', toJSON: boom })),
  entry('toJSON that returns itself for ever', () => {
    const value = { toJSON: (): object => ({ toJSON: value.toJSON }) }
    return value
  }),
  entry('toJSON that is no function', () => ({ toJSON: 'no' })),
  entry('no way to be text', () => ({ toString: boom, valueOf: boom, toJSON: boom, [Symbol.toPrimitive]: boom })),
  entry('a tag that throws', () => Object.defineProperty({}, Symbol.toStringTag, { get: boom })),
  entry('an error whose name and message throw', () =>
    Object.defineProperties(new Error('x'), { stack: { get: boom }, name: { get: boom }, message: { get: boom } }),
  ),
  entry('an error that an error throws', () =>
    Object.defineProperty({}, 'message', {
      get() {
        throw Object.defineProperty(new Error('x'), 'message', { get: boom })
      },
      enumerable: true,
    }),
  ),
  entry('an iterator that throws', () => Object.assign([1, 2], { [Symbol.iterator]: boom })),
  entry('array methods that throw', () =>
    Object.assign(['a'], { slice: boom, map: boom, filter: boom, includes: boom }),
  ),
  entry('an array whose species throws', () => Object.assign(['a'], { constructor: { [Symbol.species]: boom } })),
  entry('a set without end', () => Object.assign(new Set([1]), { [Symbol.iterator]: endless, values: endless })),
  entry('a map whose entries throw', () =>
    Object.assign(new Map([[1, 2]]), { [Symbol.iterator]: boom, entries: boom }),
  ),
  entry('a thenable that throws', () => Object.defineProperty({}, 'then', { get: boom })),
  entry('an object that is another each time', fickle),
]

const LARGE: readonly HostileValue[] = [
  entry('5 million characters', () => 'x'.repeat(5_000_000)),
  entry('5 million blanks', () => ' '.repeat(5_000_000)),
  entry('5 million characters of JSON', () => `{"status": "ok", "list": ["${'x'.repeat(5_000_000)}"]}`),
  entry('10 000 levels of arrays', () => nested(10_000, inner => [inner])),
  entry('10 000 levels of objects', () => nested(10_000, inner => ({ inner }))),
  entry('100 000 elements', () => Array.from({ length: 100_000 }, (_, index) => index)),
  entry('100 000 elements that write nothing', () => Array.from({ length: 100_000 }, () => undefined)),
  entry('20 000 keys', () => wide(20_000)),
  entry('a long key', () => ({ ['k'.repeat(1_000_000)]: 1 })),
]

export const HOSTILE_VALUES: readonly HostileValue[] = [...TEXTS, ...NUMBERS, ...OBJECTS, ...THROWERS]
/** Costly to make, so made once: nothing changes them. */
export const LARGE_VALUES: readonly HostileValue[] = LARGE.map(({ name, make }) => {
  let made: unknown
  return entry(name, () => (made ??= make()))
})

/** Times that are none. */
export const HOSTILE_TIMES: readonly unknown[] = [
  '1795256100000',
  'now',
  '',
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  -1_795_256_100_000,
  0,
  1_795_256_100,
  1e15,
  Number.MAX_VALUE,
  1_795_256_100_000n,
  null,
  true,
  {},
  [1_795_256_100_000],
  new Date(1_795_256_100_000),
  new Date(Number.NaN),
  Symbol('time'),
  { valueOf: boom, toString: boom, [Symbol.toPrimitive]: boom },
]

/** Names of hooks that are none. */
export const HOSTILE_HOOKS: readonly unknown[] = [
  undefined,
  null,
  '',
  ' on_session_start',
  'ON_SESSION_START',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'x'.repeat(1_000_000),
  42,
  Symbol('hook'),
  {},
  ['on_session_start'],
  Object('on_session_start'),
  boom,
  { toString: () => 'on_session_start' },
  { toString: boom, [Symbol.toPrimitive]: boom },
  new Proxy({}, EVERY_TRAP),
]
