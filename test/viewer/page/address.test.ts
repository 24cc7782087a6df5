import { expect, test } from 'vitest'
import { addressOf, hrefOf, type PageAddress } from '../../../src/viewer/page/address.ts'

test.each<[string, PageAddress]>([
  ['/', { view: 'live' }],
  ['/?text=two+words', { view: 'live', text: 'two words' }],
  ['/sessions', { view: 'sessions', filter: {} }],
  [
    '/sessions?text=two+words&agent=hermes&since=7d',
    { view: 'sessions', filter: { text: 'two words', agent: 'hermes', since: '7d' } },
  ],
  [
    '/sessions?project=shop&branch=fix%2Flogin&sort=-cost',
    { view: 'sessions', filter: { project: 'shop', branch: 'fix/login', sort: '-cost' } },
  ],
  ['/sessions/a%2Fb%20%3F', { view: 'session', id: 'a/b ?' }],
  ['/turns/5b8e', { view: 'turn', traceId: '5b8e', look: {} }],
  [
    '/turns/5b8e?span=07&find=rm+-rf&closed=02%2C04&inside=ab%2Ccd&unfolded=1&path=all',
    {
      view: 'turn',
      traceId: '5b8e',
      look: { span: '07', find: 'rm -rf', closed: ['02', '04'], inside: ['ab', 'cd'], isUnfolded: true, path: 'all' },
    },
  ],
  [
    '/turns/5b8e?closed=*&opened=02%2C04&unfolded=07%2C08',
    { view: 'turn', traceId: '5b8e', look: { isClosed: true, opened: ['02', '04'], unfolded: ['07', '08'] } },
  ],
  ['/usage', { view: 'usage', look: { since: '7d', by: 'model' } }],
  ['/usage?since=all&by=agent', { view: 'usage', look: { since: 'all', by: 'agent' } }],
  ['/sessions?day=2026-11-22&hour=38', { view: 'sessions', filter: { day: '2026-11-22', hour: '38' } }],
  [
    '/turns/5b8e?stored=1&from=1200.5&to=4000',
    { view: 'turn', traceId: '5b8e', look: { isStored: true, range: [1_200.5, 4_000] } },
  ],
  ['/compare?a=1&b=2', { view: 'compare', a: '1', b: '2' }],
])('parses %s, and formats it as the same address', (href, place) => {
  const [path = '', search = ''] = href.split('?')
  expect(addressOf(path, search)).toEqual(place)
  expect(hrefOf(place)).toBe(href)
})

test.each(['/nothing', '/turns/a/b', '/usage/x', '/sessions/a/b'])('rejects %s', path => {
  expect(addressOf(path, '')).toEqual({ view: 'nowhere' })
})

test('keeps text that is not encoded as an address unchanged', () => {
  expect(addressOf('/sessions/100%', '')).toEqual({ view: 'session', id: '100%' })
})

test('keeps an address short enough to send', () => {
  const closed = Array.from({ length: 5_000 }, (_, index) => index.toString(16).padStart(16, '0'))
  expect(hrefOf({ view: 'turn', traceId: 'x', look: { closed } }).length).toBeLessThan(1_000)
})
