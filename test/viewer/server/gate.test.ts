import { describe, expect, test } from 'vitest'
import { ROUTES } from '../../../src/viewer/server/routes.ts'
import { TRACE_ID } from '../../reading/sample-turn.ts'
import { ask, request, sendRaw, serve, TOKEN } from './viewing.ts'

/** Each path that the server knows, with something in the place of what varies, and one of the page's files. */
const PATHS = [
  ...ROUTES.map(({ path }) =>
    path.replace(':traceId', TRACE_ID).replace(':spanId', '0000000000000001').replace(':id', 'x'),
  ),
  '/page.js',
  '/nothing',
  '/api/nothing',
]
const DATA_PATHS = PATHS.filter(path => path.startsWith('/api/'))

const AUTHORIZED = `Authorization: Bearer ${TOKEN}`

describe.each(PATHS)('%s is protected', path => {
  test.each<[string, (port: number) => readonly string[]]>([
    ['a name that leads here from elsewhere', port => [`Host: evil.example:${port}`]],
    ['a name that begins like ours', port => [`Host: 127.0.0.1.evil.example:${port}`]],
    ['a name in upper case', port => [`Host: LOCALHOST:${port}`]],
    ['a name with a dot at its end', port => [`Host: localhost.:${port}`]],
    ['our name on another port', port => [`Host: 127.0.0.1:${port + 1}`]],
    ['our name without the port', () => ['Host: 127.0.0.1']],
    ['an address that means all of ours', port => [`Host: 0.0.0.0:${port}`]],
    ['a name with who asks in it', port => [`Host: x@127.0.0.1:${port}`]],
    ['no Host', () => []],
    ['two Hosts, ours first', port => [`Host: 127.0.0.1:${port}`, 'Host: evil.example']],
    ['two Hosts, both ours', port => [`Host: 127.0.0.1:${port}`, `Host: 127.0.0.1:${port}`]],
  ])('rejects %s', async (_, headers) => {
    const { port } = await serve()
    const answer = await request(port, `GET ${path} HTTP/1.1`, [...headers(port), AUTHORIZED])
    expect(answer.status).toBe(403)
    expectHarmless(answer.headers)
  })

  test.each([
    ['a page of another origin', 'Origin: https://evil.example', 403],
    ['a page of another port', 'Origin: http://127.0.0.1:1', 403],
    ['a page that hides its origin', 'Origin: null', 403],
    ['a page whose origin begins like ours', 'Origin: http://127.0.0.1:PORT.evil.example', 403],
    ['our own page by another name', 'Origin: http://localhost:PORT', 403],
    ['another site', 'Sec-Fetch-Site: cross-site', 403],
    ['another port of this machine', 'Sec-Fetch-Site: same-site', 403],
  ])('rejects a request from %s', async (_, header, status) => {
    const { port } = await serve()
    const answer = await ask(port, path, [header.replace('PORT', String(port))])
    expect(answer.status).toBe(status)
    expectHarmless(answer.headers)
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'])('rejects the method %s', async method => {
    const { port } = await serve()
    const answer = await request(port, `${method} ${path} HTTP/1.1`, [`Host: 127.0.0.1:${port}`, AUTHORIZED])
    expect(answer.status).toBe(405)
    expectHarmless(answer.headers)
  })
})

describe.each(DATA_PATHS)('%s requires the token', path => {
  test.each<[string, readonly string[]]>([
    ['without a token', []],
    ['with another one', [`Authorization: Bearer ${'x'.repeat(TOKEN.length)}`]],
    ['with the beginning of it', [`Authorization: Bearer ${TOKEN.slice(0, -1)}`]],
    ['with the token alone', [`Authorization: ${TOKEN}`]],
    ['with the token in a cookie', [`Cookie: k=${TOKEN}`]],
  ])('rejects a request %s', async (_, headers) => {
    const { port } = await serve()
    const answer = await request(port, `GET ${path}?k=${TOKEN} HTTP/1.1`, [`Host: 127.0.0.1:${port}`, ...headers])
    expect(answer).toMatchObject({ status: 401, body: expect.stringContaining('run hookspan view again') })
    expectHarmless(answer.headers)
  })

  test('rejects an address that the user types', async () => {
    const { port } = await serve()
    expect((await ask(port, path, ['Sec-Fetch-Site: none'])).status).toBe(403)
  })
})

/** What every answer says to the browser, and what none does. */
function expectHarmless(headers: Readonly<Record<string, string>>): void {
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
  })
  const policy = headers['content-security-policy'] ?? ''
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
  expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'")
  expect(policy).not.toMatch(/unsafe|https?:|\*|data:/)
  expect(Object.keys(headers).filter(name => /^access-control|^set-cookie$/.test(name))).toEqual([])
}

test('serves the page under each of our names, without a token: it has no data', async () => {
  const { port } = await serve()
  for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
    const answer = await request(port, 'GET /turns/abc HTTP/1.1', [`Host: ${name}:${port}`, 'Sec-Fetch-Site: none'])
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
    expectHarmless(answer.headers)
  }
})

test('serves data to our own page', async () => {
  const { port } = await serve()
  const answer = await ask(port, '/api/status', [`Origin: http://127.0.0.1:${port}`, 'Sec-Fetch-Site: same-origin'])
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.body)).toMatchObject({ version: '1.2.3', source: { traceCount: 0 } })
  expectHarmless(answer.headers)
})

test.each([
  ['a path in the place of a file', 'GET /../package.json HTTP/1.1'],
  ['the same, encoded', 'GET /%2e%2e/package.json HTTP/1.1'],
  ['an id that is a path', 'GET /api/sessions/..%2f..%2fetc%2fpasswd HTTP/1.1'],
  ['an id that is none in URLs', 'GET /api/sessions/%zz HTTP/1.1'],
  ['the name of a property', 'GET /api/traces/__proto__ HTTP/1.1'],
  ['a proxy', 'GET http://127.0.0.1/api/status HTTP/1.1'],
  ['another machine', 'GET //evil.example/api/status HTTP/1.1'],
  ['a text that never ends', `GET /api/sessions?text=${'x'.repeat(4_200)} HTTP/1.1`],
  ['a time that is none', 'GET /api/usage?since=1e999 HTTP/1.1'],
  ['a time zone that is none', 'GET /api/usage?zone=Mars/Olympus HTTP/1.1'],
  ['a group that is none', 'GET /api/usage?by=secret HTTP/1.1'],
])('finds nothing at %s', async (_, line) => {
  const { port } = await serve()
  const answer = await request(port, line, [`Host: 127.0.0.1:${port}`, AUTHORIZED])
  expect([400, 404]).toContain(answer.status)
  expectHarmless(answer.headers)
})

test('survives input that is no HTTP', async () => {
  const { port } = await serve()
  expect(await sendRaw(port, 'hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  expect(await sendRaw(port, `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /)
  expect((await ask(port, '/api/status')).status).toBe(200)
})

test('listens at one address', async () => {
  const { port } = await serve()
  // Another one of this machine's own: who listens on all addresses would answer there, too.
  await expect(sendRaw(port, 'GET / HTTP/1.1\r\n\r\n', '127.0.0.2')).rejects.toThrow(
    /ECONNREFUSED|EADDRNOTAVAIL|ETIMEDOUT/,
  )
})

test('lets invalid requests occupy no place', async () => {
  const { port } = await serve({ limits: { questions: 1 } })
  for (let time = 0; time < 3; time++) expect((await ask(port, '/api/usage?since=x')).status).toBe(400)
  expect((await ask(port, '/api/status')).status).toBe(200)
})

test('limits concurrent requests', async () => {
  const { port } = await serve({ limits: { streams: 0, questions: 0 } })
  expect((await ask(port, '/api/status')).status).toBe(503)
  expect((await ask(port, '/api/live')).status).toBe(503)
})
