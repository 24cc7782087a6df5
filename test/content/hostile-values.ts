/** Values that a host could hand in and that nothing may stumble over. Each is made anew: some are changed by reading. */

export interface HostileValue {
  readonly what: string
  make(): unknown
}

function hostile(what: string, make: () => unknown): HostileValue {
  return { what, make }
}

function throwing(): never {
  throw new Error('not for you')
}

function nested(depth: number): unknown {
  let value: unknown = 'bottom'
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? { inner: value } : [value]
  return value
}

function cyclic(): unknown {
  const value: Record<string, unknown> = { name: 'loop', list: [] }
  value['self'] = value
  ;(value['list'] as unknown[]).push(value, [value])
  return value
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

export const HOSTILE_VALUES: readonly HostileValue[] = [
  hostile('a cycle', cyclic),
  hostile('a value that is nested too deeply', () => nested(10_000)),
  hostile('a BigInt', () => ({ small: 12n, huge: 10n ** 3000n })),
  hostile('a getter that throws', () => Object.defineProperty({ ok: 1 }, 'bad', { get: throwing, enumerable: true })),
  hostile('an element that throws', () => Object.defineProperty([1, 2, 3], 1, { get: throwing })),
  hostile('a Proxy whose keys throw', () => ({ before: 1, proxy: new Proxy({}, { ownKeys: throwing }), after: 2 })),
  hostile('a Proxy whose properties throw', () => new Proxy({ a: 1 }, { get: throwing })),
  hostile('a Proxy that throws at everything', () => [new Proxy({}, new Proxy({}, { get: () => throwing }))]),
  hostile(
    'a Proxy of an array whose length throws',
    () => new Proxy([1], { get: (target, key) => (key === 'length' ? throwing() : Reflect.get(target, key)) }),
  ),
  hostile(
    'a Proxy without an end',
    () =>
      new Proxy([], {
        get: (_, key) => (key === 'length' ? Number.POSITIVE_INFINITY : typeof key === 'string' ? key : undefined),
      }),
  ),
  hostile('a revoked Proxy', () => ({ revoked: revoked() })),
  hostile('nothing but a revoked Proxy', revoked),
  hostile('a toJSON that throws', () => ({ ok: 1, bad: { toJSON: throwing } })),
  hostile('a toJSON that returns a function', () => ({ bad: { toJSON: () => throwing } })),
  hostile('a toJSON that returns undefined', () => [{ toJSON: () => undefined }]),
  hostile('a toJSON that returns itself', () => {
    const value = { a: 1, toJSON: (): unknown => value }
    return value
  }),
  hostile('a toJSON without an end', () => {
    const make = (): unknown => ({ toJSON: make })
    return make()
  }),
  hostile('an invalid date', () => ({ at: new Date(Number.NaN), good: new Date(0) })),
  hostile('a Map and a Set', () => ({
    map: new Map<unknown, unknown>([
      ['a', 1],
      [{}, 2],
      [3n, 3],
    ]),
    set: new Set([1, 'b', null]),
  })),
  hostile('a Map whose iterator throws', () => {
    const map = new Map([['a', 1]])
    map[Symbol.iterator] = throwing
    return { map }
  }),
  hostile('bytes', () => ({
    buffer: Buffer.alloc(1_000_000),
    floats: new Float64Array(1000),
    raw: new ArrayBuffer(8),
  })),
  hostile('an error', () => ({ error: new TypeError('bad "thing"') })),
  hostile('an error whose message throws', () => Object.defineProperty(new Error('x'), 'message', { get: throwing })),
  hostile('lone surrogates', () => ({ '\ud800': '\udfff\ud800 and \ud83d', list: ['\udc00'] })),
  hostile('a __proto__ key', () => JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":2}')),
  hostile('numbers that JSON does not have', () => [Number.NaN, Number.POSITIVE_INFINITY, -0, 1e300]),
  hostile('functions, symbols and undefined', () => ({
    a: throwing,
    b: Symbol('s'),
    c: undefined,
    d: [throwing, undefined],
  })),
  hostile('boxed values', () => [new String('s'), new Number(1), new Boolean(false), Object(1n), Object(Symbol('s'))]),
  hostile('an object without a prototype', () => Object.assign(Object.create(null), { a: 1 })),
  hostile('a sparse array', () => Object.assign([], { length: 4_294_967_295 })),
  hostile('a long text', () => ({ text: 'word "quoted" \\ '.repeat(300_000) })),
  hostile('a long key', () => ({ ['k'.repeat(1_000_000)]: 1, b: 2 })),
  hostile('many keys', () => Object.fromEntries(Array.from({ length: 8_000 }, (_, at) => [`key${at}`, at]))),
  hostile('many keys without a value', () =>
    Object.fromEntries(Array.from({ length: 8_000 }, (_, at) => [`key${at}`, undefined])),
  ),
  hostile('many elements', () => Array.from({ length: 10_000 }, (_, at) => ({ at }))),
  hostile('control characters', () => ({ text: '\u0000\u001b[31mred\u001b[0m\u009b1m\u0007\r\n\t' })),
  hostile('a regular expression, a promise, a class', () => [/x/, Promise.resolve(1), class {}, new WeakMap()]),
]
