import { expect, test } from 'vitest'
import { BACKEND_TYPES } from '../../../src/delivery/backends/rows.ts'
import { isShownField, ownFields } from '../../../src/plugin/config/backends.ts'
import { KEY_NAMES, KEY_ROWS } from '../../../src/plugin/config/keys.ts'
import type { ConfigInput } from '../../../src/plugin/config/resolve.ts'
import { resolveConfig } from '../../../src/plugin/config/resolve.ts'
import { showConfig } from '../../../src/plugin/config/show.ts'
import type { UserConfig } from '../../../src/plugin/config/types.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { put, resolved, scratchHome } from './scratch-home.ts'

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+/=.:@%#{}[],"\'\\ '

// Long, and with a digit, as real keys are; in the characters that they have, and some that break out of their place.
const secrets = fc
  .string({ unit: fc.constantFrom(...CHARACTERS), minLength: 20, maxLength: 60 })
  .map(text => `${text.slice(0, 8)}7${text.slice(8)}`)

const SECRET_FIELDS = [...new Set(BACKEND_TYPES.flatMap(type => ownFields(type).filter(field => !isShownField(field))))]

/** Every place where a secret belongs, or ends up by mistake. */
function backendsWith(secret: string): Record<string, unknown>[] {
  const encoded = encodeURIComponent(secret)
  return [
    { type: 'otlp', headers: { authorization: secret, 'bad name': secret, [secret]: 'x' } },
    { type: 'otlp', headers_command: ['token', secret] },
    { type: 'otlp', headers_command: `bin/${secret}` },
    { type: 'otlp', headers: [secret] },
    { type: 'otlp', headers: secret, timeout_ms: [secret] },
    { type: 'otlp', endpoint: `https://user:${encoded}@host.example/path?key=${encoded}` },
    { type: 'otlp', endpoint: `user:${secret}@host` },
    { type: 'langfuse', base_url: `https://${encoded}:x@host.example` },
    { type: 'langfuse', base_url: `https://host.example\u0000/${encoded}` },
    { type: 'phoenix', api_key_env: secret, headers_env: secret },
    { type: 'phoenix', api_kee: secret, [`api_key:${secret}`]: undefined, [`api_key=${secret}`]: 'x' },
    { type: 'phoenix', api_key: { nested: secret }, [secret]: [secret] },
    ...SECRET_FIELDS.map(field => ({ type: 'honeycomb', [field]: secret })),
  ]
}

/** The secret, or a piece of it that would be worth having. */
function leaks(said: string, secret: string): boolean {
  const plain = JSON.stringify(secret).slice(1, -1)
  return [secret, plain, encodeURIComponent(secret), Buffer.from(`user:${secret}`).toString('base64')].some(
    form => said.includes(form) || said.includes(form.slice(0, 12)) || said.includes(form.slice(-12)),
  )
}

function everythingSaid(input: ConfigInput): string {
  const resolution = resolveConfig(input)
  return JSON.stringify([resolution.problems, showConfig(resolution), [...resolution.sources]])
}

const home = '/nowhere'

test('shows the text before the = of a backend only if it is a word', () => {
  const said = (backend: string): string => everythingSaid({ code: { backends: [backend] }, env: {}, home })
  expect(said('\\aaaaaaa7aa=aaaaaaaaaaaaaaaaaaaa')).not.toContain('aaaaaaa7aa')
  expect(said('jager2=http://h')).toContain('jager2')
})

test('hides every secret of code in problems and values', () => {
  fc.assert(
    fc.property(secrets, secret => {
      const code = {
        backends: backendsWith(secret) as unknown,
        redact_patterns: [secret, { secret }] as unknown,
        headers: { authorization: secret },
        [`api_key:${secret}`]: 'x',
      }
      expect(leaks(everythingSaid({ code: code as UserConfig, env: {}, home }), secret)).toBe(false)
      const strings = {
        code: { backends: [secret, `otlp=${secret}`, `otlp=https://u:${encodeURIComponent(secret)}@h`] },
        env: {},
        home,
      }
      expect(leaks(everythingSaid(strings), secret)).toBe(false)
    }),
  )
})

test('hides every secret of the environment', () => {
  const names = ['HEADERS', 'TRACES_HEADERS', 'METRICS_HEADERS', 'ENDPOINT'].map(name => `OTEL_EXPORTER_OTLP_${name}`)
  fc.assert(
    fc.property(secrets, secret => {
      const env = {
        ...Object.fromEntries(names.map(name => [name, `authorization=${secret},${secret}`])),
        HOOKSPAN_REDACT_PATTERNS: secret,
        HOOKSPAN_BACKENDS: `otlp=https://u:${encodeURIComponent(secret)}@h?k=${encodeURIComponent(secret)}`,
        KEY: secret,
      }
      const said = everythingSaid({ env, home, code: { backends: [{ type: 'phoenix', api_key_env: 'KEY' }] } })
      expect(leaks(said, secret)).toBe(false)
      const { HOOKSPAN_BACKENDS: _, ...otelOnly } = env
      expect(leaks(everythingSaid({ env: otelOnly, home }), secret)).toBe(false)
      expect(leaks(everythingSaid({ env: { ...otelOnly, [names[3] ?? '']: 'https://h' }, home }), secret)).toBe(false)
      // What is sent along with everything is no secret; but what cannot be read may be one.
      const { problems } = resolveConfig({ env: { OTEL_RESOURCE_ATTRIBUTES: `${secret},%${secret}` }, home })
      expect(leaks(JSON.stringify(problems), secret)).toBe(false)
    }),
  )
})

test('hides every secret of a file, parsed or not', () => {
  const scratch = scratchHome()
  fc.assert(
    fc.property(secrets, fc.nat({ max: 2000 }), (secret, cut) => {
      const json = JSON.stringify({ backends: backendsWith(secret), redact_patterns: [secret, [secret]] }, null, 1)
      const path = put(scratch, 'config.json', json, 0o644)
      const env = { HOOKSPAN_CONFIG: path }
      expect(leaks(everythingSaid({ env, home: scratch }), secret)).toBe(false)
      put(scratch, 'config.json', json.slice(0, cut))
      expect(leaks(everythingSaid({ env, home: scratch }), secret)).toBe(false)
      put(scratch, 'config.json', `backends:\n- type: phoenix\n  api_key: ${secret}\n  api_key ${secret}\n${secret}`)
      expect(leaks(everythingSaid({ env, home: scratch }), secret)).toBe(false)
    }),
    { numRuns: times(20, 60) },
  )
})

test('shows that a hidden value is set', () => {
  const shown = showConfig(
    resolved({
      code: {
        backends: [
          {
            type: 'phoenix',
            name: 'p',
            endpoint: 'http://u:p@h:1/x?k=v',
            api_key: 'abc',
            headers: { 'X-A': 'b' },
            metrics: false,
          },
          { type: 'langfuse', base_url: 'http://h', public_key: 'abc', dataset: 'd' },
        ],
        redact_patterns: ['abc', 'def'],
      },
    }),
  )
  expect(shown.filter(({ key }) => /^backends|patterns/.test(key))).toEqual([
    {
      key: 'backends[0]',
      value:
        'type=phoenix name=p endpoint=http://h:1/x metrics=false api_key=<set> headers={authorization: <set>, x-a: <set>}',
      source: 'code',
    },
    { key: 'backends[1]', value: 'type=langfuse base_url=http://h public_key=<set> dataset=d', source: 'code' },
    { key: 'redact_patterns', value: '<set> (2)', source: 'code' },
  ])
})

test('shows every key with its value and source', () => {
  const shown = showConfig(
    resolved({
      yaml: 'log_flush_ms: 5\nresource_attributes: {a: b}',
      env: { OTEL_SERVICE_NAME: 'x', HOOKSPAN_PROMETHEUS: '[::1]:99' },
      code: { conventions: ['own', 'gen_ai'] },
      hostName: 'pi',
    }),
  )
  expect(shown.map(({ key }) => key)).toEqual(KEY_NAMES)
  const line = (key: string) => shown.find(one => one.key === key)
  expect(line('log_flush_ms')).toEqual({ key: 'log_flush_ms', value: '5', source: 'config.yaml line 1' })
  expect(line('resource_attributes')?.value).toBe('a=b')
  expect(line('service_name')).toEqual({ key: 'service_name', value: 'x', source: 'OTEL_SERVICE_NAME' })
  expect(line('prometheus')?.value).toBe('[::1]:99')
  expect(line('conventions')).toEqual({ key: 'conventions', value: 'own, gen_ai', source: 'code' })
  expect(line('agent_name')).toEqual({ key: 'agent_name', value: 'pi', source: 'default (name of the host)' })
  expect([line('sample_rate')?.value, line('backends')?.value, line('debug')?.value]).toEqual(['none', 'none', 'false'])
  expect(showConfig(resolved({})).find(one => one.key === 'prometheus')?.value).toBe('off')
  expect(KEY_ROWS.redact_patterns.private).toBe(true)
})
