import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { countOf, humanBytes } from '../../reading/human-figures.ts'
import { ALL_SESSIONS, type PageAddress, USAGE_LOOK } from './address.ts'
import { CompareView, ComparisonBar } from './compare.tsx'
import { CopyButton, Notice } from './elements.tsx'
import { clockText, dayText, percent } from './formats.ts'
import { KeysDialog } from './keys.tsx'
import { LiveView } from './live.tsx'
import { usePageTitle } from './loading.ts'
import { address, Link } from './navigation.tsx'
import { countOpen } from './open-traces.ts'
import { SessionView } from './session.tsx'
import { SessionsView } from './sessions.tsx'
import { connection, now, openTraces, source } from './state.ts'

export function App() {
  const here = address.value
  const section = ['session', 'turn', 'compare'].includes(here.view) ? 'sessions' : here.view
  usePageTitle(TITLES[here.view])
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top line">
        <Link class="brand" to={{ view: 'live' }}>
          hookspan
        </Link>
        <nav aria-label="Views">
          {SECTIONS.map(([title, to]) => (
            <Link key={title} to={to} isCurrent={section === to.view}>
              {title}
              {to.view === 'live' && <OpenCount />}
            </Link>
          ))}
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

function View({ here }: { readonly here: PageAddress }) {
  switch (here.view) {
    case 'live':
      return <LiveView text={here.text} />
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

export function TokenMissing() {
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

type Titles = { readonly [View in PageAddress['view']]?: string }

/** A session and a turn have titles of their own. */
const TITLES: Titles = { live: '', nowhere: '', sessions: 'Sessions', usage: 'Usage', compare: 'Compare' }

const SECTIONS: readonly (readonly [title: string, to: PageAddress])[] = [
  ['Live', { view: 'live' }],
  ['Sessions', ALL_SESSIONS],
  ['Usage', { view: 'usage', look: USAGE_LOOK }],
]

function OpenCount() {
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
function LostBar() {
  return (
    <p class="lost-bar" role="alert">
      Not connected{openTraces.value !== undefined && ` since ${clockText(now.value)}`}: this page shows the state of
      that time. Run <code>hookspan view</code>.
    </p>
  )
}

const STATES = { connecting: 'connecting', live: 'live', lost: 'not connected', refused: 'token rejected' } as const

function Connection() {
  const state = connection.value
  return (
    <p class={`connection line one-line is-${state}`} title={source.value?.path}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{STATES[state]}</span>
      <IndexProgress />
    </p>
  )
}

function IndexProgress() {
  if (source.value === undefined) return null
  const { bytes, indexedBytes, indexedSince, unreadableCount, failure } = source.value
  if (failure !== undefined) return <span class="tone-error"> · {failure}</span>
  const since = indexedSince === undefined ? '' : `, back to ${dayText(indexedSince)}`
  const unreadable = unreadableCount === 0 ? '' : `${countOf(unreadableCount, 'line')} could not be read`
  const reading = `reading ${percent(indexedBytes / bytes)} of ${humanBytes(bytes)}${since}`
  const text = indexedBytes < bytes ? reading : unreadable
  return text === '' ? null : <span class="dim"> · {text}</span>
}

function FirstSteps() {
  const { bytes, indexedBytes, traceCount } = source.value ?? {}
  if (traceCount !== 0 || indexedBytes !== bytes) return null
  return (
    <section class="card first-steps" aria-label="First steps">
      <h2>No traces yet</h2>
      <ol>
        <li>
          Run <Run command="npx hookspan init" /> It sets up the agents of this machine.
        </li>
        <li>Use your agent. Restart it first if it was running.</li>
        <li>Its turns appear here.</li>
      </ol>
      <p>
        Or load the demo: <Run command="npx hookspan demo" />
      </p>
      <p class="dim">
        Nothing appears? <Run command="npx hookspan doctor" /> lists the agents that it finds, and what is missing.
      </p>
    </section>
  )
}

function Run({ command }: { readonly command: string }) {
  return (
    <>
      <code>{command}</code> <CopyButton text={command} label={`Copy ${command}`} />
    </>
  )
}
