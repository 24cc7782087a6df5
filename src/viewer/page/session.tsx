import type { JSX } from 'preact'
import { countOf, humanDuration } from '../../reading/human-figures.ts'
import type { SessionDetail, TurnRow } from '../server/api.ts'
import { CompareButton } from './compare.tsx'
import { CopyButton, Figure, LoadState, Notice, Outcome, Since, shortId, timeText, UsageFigures } from './elements.tsx'
import { percent, shortCount } from './formats.ts'
import { useLoaded, usePageTitle } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { ShareButton } from './share.tsx'

export function SessionView({ id }: { readonly id: string }): JSX.Element {
  const { value, problem } = useLoaded<SessionDetail>(`/api/sessions/${encodeURIComponent(id)}`)
  usePageTitle(value?.turns[0]?.title)
  if (value === undefined) return <LoadState problem={problem} />
  const { session, turns } = value
  const { agent, model, project, branch, startAt, turnCount } = session
  const title = turns[0]?.title ?? ''
  return (
    <>
      <p class="crumbs">
        <Link to={{ view: 'sessions', filter: {} }}>Sessions</Link> / {shortId(id)}{' '}
        <CopyButton text={id} label="Copy the session's id" /> <ShareButton id={id} />{' '}
        <CompareButton id={id} title={title || `Session ${shortId(id)}`} />
      </p>
      <h1>{title || `Session ${shortId(id)}`}</h1>
      <p class="dim">{[agent, project, branch, model, timeText(startAt)].filter(text => text !== '').join(' · ')}</p>
      <dl class="figures">
        <Figure label={turnCount === 1 ? 'turn' : 'turns'}>{turnCount}</Figure>
        <UsageFigures {...session} />
      </dl>
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      <Turns turns={turns} />
    </>
  )
}

function Turns({ turns }: { readonly turns: readonly TurnRow[] }): JSX.Element {
  const longest = Math.max(1, ...turns.map(({ durationMillis }) => durationMillis))
  const most = Math.max(1, ...turns.map(totalTokens))
  return (
    <ol class="turns">
      {turns.map((turn, index) => (
        <Turn key={turn.traceId} turn={turn} before={turns[index - 1]} longest={longest} most={most} />
      ))}
    </ol>
  )
}

interface TurnProps {
  readonly turn: TurnRow
  readonly before: TurnRow | undefined
  readonly longest: number
  readonly most: number
}

function Turn({ turn, before, longest, most }: TurnProps): JSX.Element {
  const { traceId, turnNumber, title, startAt, durationMillis, waitedMillis, runningCount, isBackground } = turn
  const gap = before === undefined ? 0 : startAt - before.lastAt
  return (
    <>
      {gap > LONG_GAP_MILLIS && <li class="gap dim small">{humanDuration(gap)} later</li>}
      <li class={`card turn-card ${runningCount > 0 ? 'is-running' : ''}`}>
        <p class="who small">
          <span class="dim">
            {isBackground ? 'background' : turnNumber === undefined ? 'turn' : `turn ${turnNumber}`}
          </span>
          <span class="dim"> · {timeText(startAt)}</span>
          {turn.model !== '' && turn.model !== before?.model && <span> · {turn.model}</span>}
        </p>
        <h2>
          <Link to={{ view: 'turn', traceId, look: {} }}>{title || `Turn ${shortId(traceId)}`}</Link>
        </h2>
        <div
          class="meter"
          style={{ '--share': durationMillis / longest, '--waited': waitedMillis / longest }}
          aria-hidden="true"
        >
          <i class="work" />
          <i class="wait" />
        </div>
        <TurnOutcome turn={turn} before={before} />
        <TokenLine turn={turn} most={most} />
      </li>
    </>
  )
}

function TurnOutcome({ turn, before }: Pick<TurnProps, 'turn' | 'before'>): JSX.Element {
  const { traceId, startAt, durationMillis, waitedMillis, runningCount, outcome, requestCount, toolCount } = turn
  return (
    <p class="small">
      {runningCount > 0 ? (
        <span class="badge is-running">
          open for <Since at={startAt} />
        </span>
      ) : (
        <>
          <Outcome outcome={outcome} /> · {humanDuration(durationMillis)}
        </>
      )}
      {waitedMillis > 0 && <span class="tone-wait"> · {humanDuration(waitedMillis)} waiting for approval</span>}
      <span class="dim"> · {[countOf(requestCount, 'request'), countOf(toolCount, 'tool')].join(' · ')}</span>
      {turn.errorCount > 0 && <span class="tone-error"> · {countOf(turn.errorCount, 'error')}</span>}
      {before !== undefined && (
        <button type="button" class="quiet" onClick={() => go({ view: 'compare', a: before.traceId, b: traceId })}>
          Compare with the previous turn
        </button>
      )}
    </p>
  )
}

function TokenLine({ turn, most }: Pick<TurnProps, 'turn' | 'most'>): JSX.Element | null {
  const { tokens, cachedTokens, cacheHitRate } = turn
  if (totalTokens(turn) === 0) return null
  const { input = 0, output = 0 } = tokens ?? {}
  return (
    <p class="small dim token-line">
      <span
        class="meter tokens"
        style={{ '--share': (input + output) / most, '--cached': cachedTokens / most }}
        aria-hidden="true"
      >
        <i class="work" />
        <i class="cached" />
      </span>
      {shortCount(input)} → {shortCount(output)} tokens
      {cacheHitRate !== undefined && cachedTokens > 0 && `, ${percent(cacheHitRate)} of the input cached`}
    </p>
  )
}

function totalTokens({ tokens }: TurnRow): number {
  return (tokens?.input ?? 0) + (tokens?.output ?? 0)
}

/** A pause that suggests that the user was away. */
const LONG_GAP_MILLIS = 60_000
