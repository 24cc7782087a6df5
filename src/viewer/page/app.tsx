import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { countOf, humanBytes } from '../../reading/human-figures.ts'
import { type PageAddress, USAGE_LOOK } from './address.ts'
import { CompareView, ComparisonBar } from './compare.tsx'
import { clockText, dayText, Notice } from './elements.tsx'
import { FirstSteps } from './first-steps.tsx'
import { percent } from './formats.ts'
import { KeysDialog } from './keys.tsx'
import { LiveView } from './live.tsx'
import { address, Link } from './navigation.tsx'
import { countOpen } from './open-traces.ts'
import { SessionView } from './session.tsx'
import { SessionsView } from './sessions.tsx'
import { connection, now, openTraces, pageTitle, source } from './state.ts'

export function App(): JSX.Element {
  const here = address.value
  const section = SECTION_OF[here.view]
  useEffect(() => {
    pageTitle.value = TITLES[here.view] ?? ''
  }, [here.view])
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <Link class="brand" to={{ view: 'live' }}>
          hookspan
        </Link>
        <nav aria-label="Views">
          <Link to={{ view: 'live' }} isCurrent={section === 'live'}>
            Live
            <OpenCount />
          </Link>
          <Link to={{ view: 'sessions', filter: {} }} isCurrent={section === 'sessions'}>
            Sessions
          </Link>
          <Link to={{ view: 'usage', look: USAGE_LOOK }} isCurrent={section === 'usage'}>
            Usage
          </Link>
        </nav>
        <Connection />
      </header>
      {connection.value === 'lost' && <LostBar />}
      <ComparisonBar />
      <main id="main" tabIndex={-1} class={`view-${here.view} ${connection.value === 'lost' ? 'is-stale' : ''}`}>
        {connection.value === 'refused' ? (
          <TokenMissing />
        ) : (
          <>
            <FirstSteps />
            <View here={here} />
          </>
        )}
      </main>
      <KeysDialog />
    </>
  )
}

function lazyView<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return props => {
    const [Loaded, setLoaded] = useState<ComponentType<Props>>()
    useEffect(() => void load().then(view => setLoaded(() => view)), [])
    return Loaded === undefined ? <Notice>Loading …</Notice> : <Loaded {...props} />
  }
}

const TurnView = lazyView(async () => (await import('./turn.tsx')).TurnView)
const UsageView = lazyView(async () => (await import('./usage.tsx')).UsageView)

function View({ here }: { readonly here: PageAddress }): JSX.Element {
  switch (here.view) {
    case 'live':
      return <LiveView />
    case 'sessions':
      return <SessionsView filter={here.filter} />
    case 'session':
      return <SessionView key={here.id} id={here.id} />
    case 'turn':
      return <TurnView key={here.traceId} traceId={here.traceId} look={here.look} />
    case 'usage':
      return <UsageView look={here.look} />
    case 'compare':
      return <CompareView a={here.a} b={here.b} />
    default:
      return <Notice>Page not found.</Notice>
  }
}

export function TokenMissing(): JSX.Element {
  return (
    <div class="token-missing">
      <h1>This tab has no token</h1>
      <p>
        Run <code>hookspan view</code> and open the address that it prints. If a viewer is running already, the command
        prints the address of that one.
      </p>
    </div>
  )
}

/** A session and a turn have titles of their own. */
const TITLES: { readonly [View in PageAddress['view']]?: string } = {
  sessions: 'Sessions',
  usage: 'Usage',
  compare: 'Compare',
}

const SECTION_OF: Readonly<Record<PageAddress['view'], PageAddress['view']>> = {
  live: 'live',
  sessions: 'sessions',
  session: 'sessions',
  turn: 'sessions',
  usage: 'usage',
  compare: 'sessions',
  nowhere: 'nowhere',
}

function OpenCount(): JSX.Element | null {
  const { living, waiting } = countOpen(openTraces.value ?? [])
  if (living === 0 || connection.value === 'lost') return null
  return (
    <span class={`count ${waiting > 0 ? 'is-waiting' : ''}`}>
      {living}
      <span class="unseen"> open</span>
    </span>
  )
}

/** `now` stands still while the page is not connected, so it is the time of the loss. */
function LostBar(): JSX.Element {
  return (
    <p class="lost-bar" role="alert">
      Not connected{openTraces.value !== undefined && ` since ${clockText(now.value)}`}: this page shows the state of
      that time. Run <code>hookspan view</code>.
    </p>
  )
}

const STATES = {
  connecting: 'connecting',
  live: 'live',
  lost: 'not connected',
  refused: 'token rejected',
} as const

function Connection(): JSX.Element {
  const state = connection.value
  return (
    <p class={`connection one-line is-${state}`} title={source.value?.path}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{STATES[state]}</span>
      <IndexProgress />
    </p>
  )
}

function IndexProgress(): JSX.Element | null {
  if (source.value === undefined) return null
  const { bytes, indexedBytes, indexedSince, unreadableCount, failure } = source.value
  if (failure !== undefined) return <span class="tone-error"> · {failure}</span>
  const since = indexedSince === undefined ? '' : `, back to ${dayText(indexedSince)}`
  if (indexedBytes < bytes) {
    return (
      <span class="dim">
        {' '}
        · reading {percent(indexedBytes / bytes)} of {humanBytes(bytes)}
        {since}
      </span>
    )
  }
  return unreadableCount === 0 ? null : <span class="dim"> · {countOf(unreadableCount, 'line')} could not be read</span>
}
