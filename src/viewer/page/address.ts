import { PATH_PARTS } from '../../reading/critical-path.ts'
import type { PathFilter } from './path-parts.ts'

const FILTERS = [
  'text',
  'project',
  'branch',
  'agent',
  'model',
  'tool',
  'outcome',
  'since',
  /**
   * `day`: a local day, `2026-11-22`. `hour`: hour of the week in local time, 0 is Monday, 0 h. `sort`: a column of the list;
   * with a leading `-`, its lowest value first.
   */
  'day',
  'hour',
  'sort',
] as const

export type SessionFilter = { readonly [Name in (typeof FILTERS)[number]]?: string }

export const USAGE_GROUPS = ['model', 'agent', 'project'] as const

export type UsageLook = Readonly<{ since: string; by: (typeof USAGE_GROUPS)[number] }>

export const TURN_TABS = ['transcript', 'timeline', 'usage'] as const
export type TurnTab = (typeof TURN_TABS)[number]

export interface TurnLook {
  /** The timeline if absent. */
  readonly tab?: Exclude<TurnTab, 'timeline'>
  readonly span?: string
  readonly find?: string
  readonly closed?: readonly string[]
  /** All spans are closed, except those in `opened`. */
  readonly isClosed?: true
  readonly opened?: readonly string[]
  /** Traces of child sessions, shown below the spans that started them. */
  readonly inside?: readonly string[]
  readonly isUnfolded?: true
  readonly unfolded?: readonly string[]
  readonly path?: PathFilter
  /** Spans as stored, without joined wrappers. */
  readonly isStored?: true
  /** The visible time, in milliseconds since the start of the turn. */
  readonly range?: readonly [number, number]
}

/** Changes the tab. The rest of the look applies to the timeline alone. */
export function lookOfTab(tab: TurnTab): TurnLook {
  return tab === 'timeline' ? {} : { tab }
}

export type Changes<Look> = { readonly [Name in keyof Look]: Look[Name] | undefined }

export function changedLook<Look extends object>(look: Look, changes: Changes<Partial<Look>>): Look {
  const fields = Object.entries({ ...look, ...changes }).filter(([, value]) => value !== undefined && value !== '')
  return Object.fromEntries(fields) as Look
}

export type PageAddress =
  | { readonly view: 'live'; readonly text?: string }
  | { readonly view: 'sessions'; readonly filter: SessionFilter }
  | { readonly view: 'session'; readonly id: string }
  | { readonly view: 'turn'; readonly traceId: string; readonly look: TurnLook }
  | { readonly view: 'usage'; readonly look: UsageLook }
  | { readonly view: 'compare'; readonly a: string; readonly b: string }
  | { readonly view: 'nowhere' }

export function turnAddress(traceId: string, span?: string): PageAddress {
  return { view: 'turn', traceId, look: span === undefined ? {} : { span } }
}

/** More ids would make the address too long to share. */
const MAX_LISTED = 40
const ALL_CLOSED = '*'
const ALL_UNFOLDED = '1'
const MAX_INSIDE = 20
export const USAGE_LOOK: UsageLook = { since: '7d', by: 'model' }
export const ALL_SESSIONS: PageAddress = { view: 'sessions', filter: {} }

export function addressOf(path: string, search: string): PageAddress {
  const query = new URLSearchParams(search)
  const [first = '', second = '', ...more] = path.split('/').slice(1).map(decoded)
  if (more.length > 0) return { view: 'nowhere' }
  if (first === 'turns' && second !== '') return { view: 'turn', traceId: second, look: lookOf(query) }
  if (first === 'sessions' && second !== '') return { view: 'session', id: second }
  if (second !== '') return { view: 'nowhere' }
  if (first === '') return changedLook<PageAddress>({ view: 'live' }, { text: query.get('text') ?? '' })
  const filter = FILTERS.map(name => [name, query.get(name)]).filter(([, text]) => text)
  if (first === 'sessions') return { view: 'sessions', filter: Object.fromEntries(filter) }
  const by = USAGE_GROUPS.find(each => each === query.get('by')) ?? USAGE_LOOK.by
  if (first === 'usage') return { view: 'usage', look: { since: query.get('since') || USAGE_LOOK.since, by } }
  if (first === 'compare') return { view: 'compare', a: query.get('a') ?? '', b: query.get('b') ?? '' }
  return { view: 'nowhere' }
}

export function hrefOf(place: PageAddress): string {
  switch (place.view) {
    case 'sessions':
      return withQuery('/sessions', { ...place.filter })
    case 'session':
      return `/sessions/${encodeURIComponent(place.id)}`
    case 'turn':
      return withQuery(`/turns/${encodeURIComponent(place.traceId)}`, queryOf(place.look))
    case 'usage': {
      const chosen = Object.entries(place.look).filter(([name, value]) => value !== USAGE_LOOK[name as keyof UsageLook])
      return withQuery('/usage', Object.fromEntries(chosen))
    }
    case 'compare':
      return withQuery('/compare', { a: place.a, b: place.b })
    default:
      return withQuery('/', 'text' in place ? { text: place.text } : {})
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

type LookField = readonly [read: (text: string) => TurnLook, write: (look: TurnLook) => string | undefined]

const LOOK_FIELDS: Readonly<Record<string, LookField>> = {
  tab: [text => (text === 'transcript' || text === 'usage' ? { tab: text } : {}), ({ tab }) => tab],
  span: [span => ({ span }), ({ span }) => span],
  find: [find => ({ find }), ({ find }) => find],
  closed: [
    text => (text === ALL_CLOSED ? { isClosed: true } : { closed: text.split(',') }),
    ({ isClosed, closed }) => (isClosed ? ALL_CLOSED : listed(closed)),
  ],
  opened: [text => ({ opened: text.split(',') }), ({ opened }) => listed(opened)],
  inside: [text => ({ inside: text.split(',').slice(0, MAX_INSIDE) }), ({ inside }) => listed(inside, MAX_INSIDE)],
  unfolded: [
    text => (text === ALL_UNFOLDED ? { isUnfolded: true } : { unfolded: text.split(',') }),
    ({ isUnfolded, unfolded }) => (isUnfolded ? ALL_UNFOLDED : listed(unfolded)),
  ],
  path: [text => ({ path: PATH_PARTS.find(part => part === text) ?? 'all' }), ({ path }) => path],
  stored: [() => ({ isStored: true }), ({ isStored }) => isStored && '1'],
  from: [() => ({}), ({ range }) => range?.[0].toString()],
  to: [() => ({}), ({ range }) => range?.[1].toString()],
}

function lookOf(query: URLSearchParams): TurnLook {
  const fields = Object.entries(LOOK_FIELDS).map(([name, [read]]) =>
    query.get(name) ? read(query.get(name) ?? '') : {},
  )
  const [from = 0, to = 0] = ['from', 'to'].map(name => Number.parseFloat(query.get(name) ?? ''))
  return Object.assign({}, ...fields, from < to && { range: [from, to] }) as TurnLook
}

function queryOf(look: TurnLook): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(LOOK_FIELDS).map(([name, [, write]]) => [name, write(look)]))
}

function listed(ids: readonly string[] | undefined, most: number = MAX_LISTED): string | undefined {
  return ids?.slice(0, most).join(',')
}

function withQuery(path: string, values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value)
  return query.size === 0 ? path : `${path}?${query}`
}
