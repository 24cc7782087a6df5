import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { pathSums } from '../../reading/critical-path.ts'
import { groupBy } from '../../reading/group-by.ts'
import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { SpanRow, TraceView } from '../server/api.ts'
import { changedLook, lookOfTab, TURN_TABS, type TurnLook, turnAddress } from './address.ts'
import { CompareButton } from './compare.tsx'
import { type Column, CopyButton, Figure, LoadState, Notice, Since, Table, UsageFigures } from './elements.tsx'
import { brief, capitalized, dotted, shortId, timeText } from './formats.ts'
import { tracePath, useLoaded, usePageTitle } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { type PathFilter, pathColour } from './path-parts.ts'
import { turnName } from './session.tsx'
import { ShareButton } from './share.tsx'
import { Feed, TurnTranscript } from './transcript.tsx'
import { Waterfall } from './turn-tree.tsx'

type HeaderProps = Readonly<{ view: TraceView; look: TurnLook }>

export function TurnView({ traceId, look }: { readonly traceId: string; readonly look: TurnLook }) {
  const { value, problem } = useLoaded<TraceView>(tracePath(traceId), [traceId])
  usePageTitle(value?.turn.title)
  if (value === undefined) return <LoadState problem={problem} isPage />
  const shown = look.tab ?? 'timeline'
  return (
    <div class="turn-view stack">
      <Header view={value} look={look} />
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      <nav class="tabs" aria-label="Views of this turn">
        {TURN_TABS.map(tab => (
          <Link key={tab} to={{ view: 'turn', traceId, look: lookOfTab(tab) }} isCurrent={tab === shown}>
            {capitalized(tab)}
          </Link>
        ))}
      </nav>
      {shown === 'timeline' && <Waterfall key={traceId} view={value} look={look} />}
      {shown === 'transcript' && (
        <TabPage label="Transcript">
          <Feed isLive={value.turn.state === 'open'}>
            <article aria-label="Turn" aria-posinset={1} aria-setsize={1}>
              <TurnTranscript traceId={traceId} />
            </article>
          </Feed>
        </TabPage>
      )}
      {shown === 'usage' && (
        <TabPage label="Usage">
          <TurnUsage view={value} />
        </TabPage>
      )}
      <Announcer view={value} />
    </div>
  )
}

/** A tab that scrolls as a whole. It has the focus at first, so that keys scroll it. */
function TabPage({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  const box = useRef<HTMLElement>(null)
  useEffect(() => box.current?.focus({ preventScroll: true }), [])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls needs the focus to be scrolled by keys
    <section ref={box} class="turn-page" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}

function Header({ view, look }: HeaderProps) {
  const { turn, previous, next } = view
  const { agent, sessionId, startAt, outcome, model, traceId, project, branch } = turn
  const title = turn.title || `Turn ${shortId(traceId)}`
  return (
    <header class="turn-header stack">
      <p class="crumbs">
        <Link to={{ view: 'session', id: sessionId }}>Session {shortId(sessionId)}</Link> / {turnName(turn)}
        <span class="dim"> · {dotted(agent, project, branch, model, timeText(startAt))}</span>{' '}
        <CopyButton text={traceId} label="Copy the turn's trace id" /> <ShareButton id={traceId} />{' '}
        <CompareButton id={traceId} title={title} />
        <span class="steps-between">
          {previous !== undefined && <Link to={turnAddress(previous)}>← Previous</Link>}
          {next !== undefined && <Link to={turnAddress(next)}>Next →</Link>}
        </span>
      </p>
      <h1 class="two-lines">{title}</h1>
      <dl class="figures flow">
        {turn.state === 'ended' ? (
          <Figure label={brief(outcome?.text ?? 'lasted')} tone={`tone-${outcome?.tone ?? 'plain'}`}>
            {humanDuration(turn.durationMillis)}
          </Figure>
        ) : (
          <OpenFigures {...view} />
        )}
        <UsageFigures {...turn} />
        <Figure label={turn.spanCount === 1 ? 'span' : 'spans'}>{humanCount(turn.spanCount)}</Figure>
      </dl>
      <PathBar view={view} look={look} />
    </header>
  )
}

function OpenFigures({ turn: { traceId, state, startAt, lastAt, isOwnerAlive }, rows }: TraceView) {
  const isOpen = state === 'open'
  const waits = rows.filter(row => isOpen && row.isPersonWait && row.state === 'open')
  const [first] = waits.toSorted((a, b) => a.startAt - b.startAt)
  const silent = isOwnerAlive ? 'silent for (process alive)' : 'silent for'
  return (
    <>
      <Figure label={isOpen ? 'open for' : 'open; process exited'} tone={isOpen ? 'tone-running' : 'tone-error'}>
        <Since at={startAt} />
      </Figure>
      <Figure label={first ? 'waiting for approval' : silent} tone={first ? 'tone-wait' : ''}>
        {first === undefined ? (
          <Since at={lastAt} />
        ) : (
          <Link to={turnAddress(traceId, first.id)}>
            <Since at={first.startAt} />
          </Link>
        )}
      </Figure>
    </>
  )
}

/** Limits the announcements, so that they do not drown out the rest of the page in a screen reader. */
const ANNOUNCE_PAUSE_MILLIS = 5_000

function Announcer({ view }: Pick<HeaderProps, 'view'>) {
  const [sentence, setSentence] = useState('')
  const { spanCount, state, outcome } = view.turn
  const told = useRef({ spanCount, state, at: 0 })
  useEffect(() => {
    const news = [
      ...(spanCount > told.current.spanCount ? [`${countOf(spanCount - told.current.spanCount, 'span')} more`] : []),
      ...(state !== told.current.state && state === 'ended' ? [`ended: ${outcome?.text ?? ''}`] : []),
    ]
    if (news.length === 0) return undefined
    const announce = (): void => {
      told.current = { spanCount, state, at: Date.now() }
      setSentence(news.join(', '))
    }
    const timer = setTimeout(announce, Math.max(0, told.current.at + ANNOUNCE_PAUSE_MILLIS - Date.now()))
    return () => clearTimeout(timer)
  }, [view])
  return (
    <p class="unseen" role="status" aria-live="polite">
      {sentence}
    </p>
  )
}

/** The critical path as one bar. Each of its buttons names a part, explains its colour and filters the rows. */
function PathBar({ view, look }: HeaderProps) {
  const sums = pathSums(view.path)
  if (sums.length === 0) return null
  const button = (filter: PathFilter, children: ComponentChildren) => {
    const isOn = look.path === filter
    // The marks and the filter are of the timeline.
    const to = changedLook(look, { tab: undefined, path: isOn ? undefined : filter })
    const press = (): void => go({ view: 'turn', traceId: view.turn.traceId, look: to }, 'replace')
    return (
      <button key={filter} type="button" class="quiet" aria-pressed={isOn} onClick={press}>
        {children}
      </button>
    )
  }
  return (
    <div class="critical-path line flow" role="toolbar" aria-label="Critical path">
      {button('all', `Critical path ${humanDuration(sums.reduce((total, [, millis]) => total + millis, 0))}`)}
      <span class="path-bar" aria-hidden="true">
        {sums.map(([part, millis]) => (
          <i key={part} class="path-part" style={{ ...pathColour(part), flexGrow: millis }} />
        ))}
      </span>
      {sums.map(([part, millis]) =>
        button(
          part,
          <>
            <i class="path-part" style={pathColour(part)} /> {part} {humanDuration(millis)}
          </>,
        ),
      )}
    </div>
  )
}

const FIGURES = [
  ['Tokens in', 'input', humanCount],
  ['Cached', 'cached', humanCount],
  ['Tokens out', 'output', humanCount],
  ['Cost', 'cost', humanCost],
] as const

function TurnUsage({ view: { rows } }: { readonly view: TraceView }) {
  const models = sumsByName(rows.filter(({ kind }) => kind === 'api' || kind === 'auxiliary'))
  const tools = sumsByName(rows.filter(({ kind }) => kind === 'tool'))
  const figures = FIGURES.filter(([, name]) => models.some(sum => sum[name] > 0))
  const columns = (title: string, counted: string): Column<UsageSum>[] => [
    [title, ({ name }) => brief(name)],
    [counted, ({ count }) => humanCount(count)],
    ['Failed', ({ errors }) => humanCount(errors)],
  ]
  const time: Column<UsageSum> = ['Time', ({ millis }) => humanDuration(millis)]
  const usage = figures.map(([head, name, text]): Column<UsageSum> => [head, sum => text(sum[name])])
  if (models.length + tools.length === 0) return <Notice>This turn has no model request and no tool call yet.</Notice>
  return (
    <>
      {models.length > 0 && <Table rows={models} columns={[...columns('Model', 'Requests'), ...usage, time]} isPlain />}
      {tools.length > 0 && <Table rows={tools} columns={[...columns('Tool', 'Calls'), time]} isPlain />}
    </>
  )
}

type UsageSum = ReturnType<typeof sumsByName>[number]

function sumsByName(rows: readonly SpanRow[]) {
  const named = groupBy(rows, ({ name }) => name.replace(/^(api|auxiliary|tool)\./, ''))
  const sums = Array.from(named, ([name, own]) => {
    const sum = { name, count: own.length, errors: 0, input: 0, cached: 0, output: 0, cost: 0, millis: 0 }
    for (const row of own) {
      sum.errors += row.isError ? 1 : 0
      for (const each of ['input', 'cached', 'output', 'cost'] as const) sum[each] += row[each] ?? 0
      sum.millis += Math.max(0, row.endAt - row.startAt)
    }
    return sum
  })
  return sums.sort((a, b) => b.millis - a.millis)
}
