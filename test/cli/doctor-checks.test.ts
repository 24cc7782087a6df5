import { describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import {
  checkBacklog,
  checkLosses,
  checkNode,
  checkProxies,
  type DoctorFinding,
  type ProxiedBackend,
} from '../../src/cli/doctor/examination.ts'
import { probeProblem } from '../../src/cli/doctor/probe.ts'
import { humanBytes } from '../../src/reading/human-figures.ts'

function levelAndText(findings: readonly DoctorFinding[]): string[] {
  return findings.map(({ level, what, remedy }) => `${level}: ${what}${remedy === undefined ? '' : ` → ${remedy}`}`)
}

describe('Node', () => {
  const needed = packageJson.engines.node.replace('>=', '')
  const [major = 0, minor = 0] = needed.split('.').map(Number)

  test.each([process.versions.node, `${needed}.0`, `${major}.${minor + 1}.0`, `${major + 1}.0.0`])(
    'accepts %s',
    version => {
      expect(checkNode(version)).toEqual({ level: 'ok', area: 'Node', what: `v${version}` })
    },
  )

  test.each([`${major}.${minor - 1}.9`, `${major - 1}.99.0`])('rejects %s as too old', version => {
    expect(checkNode(version)).toMatchObject({
      level: 'fail',
      what: `v${version} is too old: hookspan needs ${needed} or later`,
      remedy: expect.stringContaining('update Node'),
    })
  })
})

describe('proxies', () => {
  const PROXY = 'http://user:hunter2@proxy.example:3128'
  const REMOTE: ProxiedBackend = { name: 'honeycomb', url: 'https://api.honeycomb.io/v1/traces', delivered: true }

  function check(env: Record<string, string>, backends: readonly ProxiedBackend[] = []): string[] {
    const lines = levelAndText(checkProxies(env, backends))
    expect(lines.join()).not.toMatch(/hunter2|proxy\.example/)
    return lines
  }

  test('is fine without any', () => {
    expect(check({}, [REMOTE])).toEqual(['ok: no proxy variables are set'])
  })

  test.each(['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'])('warns that %s captures loopback', name => {
    expect(check({ [name]: PROXY })).toEqual([
      `warn: ${name} captures what other programs (curl, agents in Python, agents in Node with NODE_USE_ENV_PROXY) send to localhost and 127.0.0.1; hookspan itself uses no proxy → set NO_PROXY=localhost,127.0.0.1,::1`,
    ])
  })

  test.each<[string, string[]]>([
    ['localhost,127.0.0.1', []],
    ['LOCALHOST 127.0.0.0/8', []],
    ['*', []],
    ['localhost', ['127.0.0.1']],
    ['127.0.0.1:4318,.localhost', ['127.0.0.1']],
    ['example.com, ::1', ['localhost', '127.0.0.1']],
  ])('warns if NO_PROXY=%s leaves %j captured', (exceptions, captured) => {
    const [line = ''] = check({ HTTP_PROXY: PROXY, NO_PROXY: exceptions })
    if (captured.length === 0)
      expect(line).toBe('ok: HTTP_PROXY set; hookspan itself uses no proxy, and NO_PROXY exempts this machine')
    else expect(line).toContain(`send to ${captured.join(' and ')};`)
    if (captured.length > 0) expect(line).toMatch(/ → add to NO_PROXY: localhost,127\.0\.0\.1,::1$/)
  })

  test('allows one for https only, which does not capture loopback', () => {
    expect(check({ HTTPS_PROXY: PROXY })).toEqual(['ok: HTTPS_PROXY set; hookspan itself uses no proxy'])
  })

  test.each<[boolean | null, string]>([
    [true, 'ok: honeycomb (api.honeycomb.io) is reached directly, not through https_proxy, and that works'],
    [
      false,
      'warn: honeycomb (api.honeycomb.io) is reached directly, not through https_proxy → if this network requires',
    ],
    [
      null,
      'note: honeycomb (api.honeycomb.io) is reached directly, not through https_proxy → if this network requires',
    ],
  ])('notes a backend elsewhere, delivered: %j', (delivered, expected) => {
    const env = { https_proxy: PROXY, no_proxy: 'localhost,127.0.0.1' }
    expect(check(env, [{ ...REMOTE, delivered }])[1]).toMatch(new RegExp(`^${expected.replace(/[().]/g, '\\$&')}`))
    expect(check({ ...env, no_proxy: '.honeycomb.io' }, [{ ...REMOTE, delivered }])).toHaveLength(1)
  })

  test.each(['http://127.0.0.1:4318/', 'http://[::1]:4318/', 'http://localhost/', undefined])(
    'notes a backend here: %s',
    url => {
      const backend = { name: 'otlp', delivered: false, ...(url === undefined ? {} : { url }) }
      expect(check({ HTTP_PROXY: PROXY, NO_PROXY: 'localhost,127.0.0.1' }, [backend])).toHaveLength(1)
    },
  )
})

describe('backlog', () => {
  const now = 1_795_256_100_000
  const sampling = { destinations: new Map([['jaeger', 'there']]), isSampling: true }
  const context = { ...sampling, configured: new Set(['jaeger']), failing: new Set<string>(), maxAgeHours: 168, now }
  const entry = { segments: 2, bytes: 1_300_000, oldestAt: now - 7_800_000 }

  test.each([
    ['none', [], ['ok: nothing']],
    [
      'without a delivering process',
      [{ ...entry, backend: 'jaeger', isLive: false }],
      [
        'warn: 1.2 MB for jaeger in 2 files, the oldest begun 2 h 10 m ago; no running agent delivers it → hookspan send --backend jaeger, or start an agent',
      ],
    ],
    [
      'with a delivering agent',
      [{ ...entry, backend: 'jaeger', isLive: true }],
      ['note: 1.2 MB for jaeger in 2 files, the oldest begun 2 h 10 m ago; a running agent delivers it'],
    ],
    [
      'of a backend that is gone',
      [{ ...entry, backend: 'phoenix', segments: 1, isLive: true }],
      [
        'warn: 1.2 MB for phoenix in 1 file, the oldest begun 2 h 10 m ago; no backend has that name now → configure phoenix again; otherwise it is deleted after 168 h',
      ],
    ],
  ])('reports the backlog: %s', (_what, entries, expected) => {
    expect(levelAndText(checkBacklog(entries, [], context))).toEqual(expected)
  })

  test('advises no send of data that the probe has just failed to deliver', () => {
    const failing = new Set(['jaeger'])
    const pending = { ...entry, backend: 'jaeger', isLive: false }
    const [line] = levelAndText(checkBacklog([pending], [], { ...context, failing }))
    expect(line).toMatch(/ → first fix jaeger, see above; then hookspan send --backend jaeger, or start an agent$/)
  })
})

describe('the buffered traces of killed processes', () => {
  const now = 1_795_256_100_000
  const jaeger = new Map([['jaeger', 'there']])
  type Sampling = { destinations: ReadonlyMap<string, string>; isSampling: boolean }
  const what =
    '1.2 MB held for jaeger in 2 files, the oldest begun 2 h 10 m ago; its agent ended before tail sampling decided'
  const rest = 'hookspan send TRACE_ID sends one trace, and the rest is deleted after 168 h'

  test.each<[string, Sampling, string]>([
    ['is judged by the next agent', { destinations: jaeger, isSampling: true }, ' → hookspan send, or start an agent'],
    [
      'waits where keep is off',
      { destinations: jaeger, isSampling: false },
      `, and keep is off → set keep, and run hookspan send; otherwise ${rest}`,
    ],
    ...[new Map([['jaeger', 'elsewhere']]), new Map([...jaeger, ['phoenix', 'there']]), new Map<string, string>()].map(
      (destinations): [string, Sampling, string] => [
        `is left alone by one that sends to ${[...destinations].join(' and ') || 'nobody'}`,
        { destinations, isSampling: true },
        `, and other backends are configured now → configure jaeger, with the same addresses as then and no others, and run hookspan send; otherwise ${rest}`,
      ],
    ),
  ])('reports buffered traces: %s', (_what, sampling, more) => {
    const context = { ...sampling, configured: new Set<string>(), failing: new Set<string>(), maxAgeHours: 168, now }
    const entry = { destinations: jaeger, segments: 2, bytes: 1_300_000, oldestAt: now - 7_800_000 }
    expect(levelAndText(checkBacklog([], [entry], context))).toEqual([`warn: ${what}${more}`])
  })
})

describe('losses', () => {
  const now = 1_795_256_100_000
  const loss = { at: now - 3_600_000 * 50, backend: 'jaeger', spans: 4120 }

  test('is fine without any', () => {
    expect(levelAndText(checkLosses([], now))).toEqual(['ok: nothing in the last 7 days'])
  })

  test.each([
    ['the trace log was full', 'raise local_log_max_bytes'],
    ['the queue was full', 'make the trace log writable'],
    ['rejected by the backend', 'see the log of that backend'],
    ['status 400', 'see the log of that backend'],
    ['timeout', 'fix that backend, see above'],
  ])('reports losses: %s', (reason, remedy) => {
    const [line = ''] = levelAndText(checkLosses([{ ...loss, reason }], now))
    expect(line.startsWith(`warn: 4 120 spans for jaeger, the last 2 d 02 h ago: ${reason} → ${remedy}`)).toBe(true)
  })
})

describe('a line of the pipeline', () => {
  test.each([
    [
      'backend a: nothing listens at http://h:1/v1/traces. Start it, or correct endpoint; until then its traces are dropped, and its metrics are dropped (ECONNREFUSED)',
      'a: nothing listens at http://h:1/v1/traces',
      'Start it, or correct endpoint (ECONNREFUSED)',
    ],
    [
      'backend a: http://h/ did not answer within 10 ms; its traces are kept in the trace log, and sent later until it does. Check the backend, or raise timeout_ms',
      'a: http://h/ did not answer within 10 ms',
      'Check the backend, or raise timeout_ms',
    ],
    [
      'backend a: http://h/ answered 429: its rate limit or quota is reached; meanwhile its traces are kept in the trace log, and sent later',
      'a: http://h/ answered 429: its rate limit or quota is reached',
      undefined,
    ],
    [
      'backend a: cannot write /x: the disk is full (ENOSPC). Free some space on that disk or choose another path; until then its spans are dropped, other backends go on',
      'a: cannot write /x: the disk is full (ENOSPC)',
      'Free some space on that disk or choose another path',
    ],
    ['something else that is kept as it is', 'something else that is kept as it is', undefined],
  ])('reports a line: %s', (said, what, remedy) => {
    const problem = probeProblem(said)
    expect([problem.what, problem.remedy]).toEqual([what, remedy])
    expect(problem.line).not.toMatch(/[\r\n]/)
  })
})

test.each([
  [0, '0 B'],
  [-5, '0 B'],
  [999, '999 B'],
  [1000, '1.0 KB'],
  [10 * 1024, '10 KB'],
  [268_435_456, '256 MB'],
  [Number.MAX_SAFE_INTEGER, '8.0 PB'],
])('formats %d bytes as %s', (bytes, shown) => {
  expect(humanBytes(bytes)).toBe(shown)
})
