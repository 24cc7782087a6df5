import type { ComponentChildren, JSX, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { LongValue, Transcript, TranscriptStep, TranscriptText } from '../server/api.ts'
import { Fold, Notice, Outcome, Since } from './elements.tsx'
import { shortCount } from './formats.ts'
import { KindIcon, kindName } from './icons.tsx'
import { LazyBlock } from './lazy-block.tsx'
import { useLoaded } from './loading.ts'
import { Markdown } from './markdown.tsx'
import { Link } from './navigation.tsx'
import { visibleValue } from './values.tsx'

export function TurnTranscript({ traceId }: { readonly traceId: string }): JSX.Element {
  const path = `/api/traces/${encodeURIComponent(traceId)}/transcript`
  const { value, problem } = useLoaded<Transcript>(path, ids => ids.includes(traceId))
  if (value === undefined) return <Notice tone={problem === undefined ? '' : 'failed'}>{problem ?? 'Loading …'}</Notice>
  return (
    <>
      {!value.hasContent && (
        <Notice>
          Prompts and results of this turn were not captured. To record them from now on, set{' '}
          <code>content_capture: preview</code> or <code>full</code> in the configuration.
        </Notice>
      )}
      <Talk transcript={value} traceId={traceId} />
      {value.cutCount !== undefined && (
        <Notice>{countOf(value.cutCount, 'more step')} not shown. See the timeline.</Notice>
      )}
    </>
  )
}

interface TalkProps {
  readonly transcript: Transcript
  readonly traceId: string
}

const BLOCK_STEPS = 50
const STEP_HEIGHT = 27

function Talk({ transcript: { question, steps, answer }, traceId }: TalkProps): JSX.Element {
  const blocks = Array.from({ length: Math.ceil(steps.length / BLOCK_STEPS) }, (_, index) => index * BLOCK_STEPS)
  const list = (from: number): JSX.Element => (
    <ol class="talk-steps">
      {steps.slice(from, from + BLOCK_STEPS).map(step => (
        <Step key={step.id} step={step} traceId={traceId} answer={answer?.value} />
      ))}
    </ol>
  )
  return (
    <div class="talk">
      {question !== undefined && <Said text={question} traceId={traceId} by="question" />}
      {blocks.length <= 1
        ? blocks.map(list)
        : blocks.map((from, index) => (
            <LazyBlock
              key={from}
              class=""
              label={`Steps ${from + 1} to ${Math.min(steps.length, from + BLOCK_STEPS)}`}
              position={index + 1}
              count={blocks.length}
              height={Math.min(BLOCK_STEPS, steps.length - from) * STEP_HEIGHT}
            >
              {() => list(from)}
            </LazyBlock>
          ))}
      {answer !== undefined && <Said text={answer} traceId={traceId} by="answer" />}
    </div>
  )
}

interface SaidProps {
  readonly text: TranscriptText
  readonly traceId: string
  readonly by: 'question' | 'answer'
}

function Said({ text, traceId, by }: SaidProps): JSX.Element {
  return (
    <div class={`said is-${by}`}>
      <span class="unseen">{by === 'question' ? 'Question:' : 'Answer:'}</span>
      <LongMarkdown value={text} traceId={traceId} spanId={text.id} />
    </div>
  )
}

interface LongProps {
  readonly value: LongValue
  readonly traceId: string
  readonly spanId: string
}

function LongMarkdown({ value: { value, length }, traceId, spanId }: LongProps): JSX.Element {
  const text = String(value)
  return (
    <>
      <Markdown text={text} />
      {length !== undefined && (
        <Link class="small" to={{ view: 'turn', traceId, look: { span: spanId } }}>
          {humanCount(length - text.length)} more characters
        </Link>
      )}
    </>
  )
}

interface StepProps {
  readonly step: TranscriptStep
  readonly traceId: string
  /** The answer of the turn. The request that gave it does not repeat it. */
  readonly answer: unknown
}

function Step({ step, traceId, answer }: StepProps): JSX.Element {
  const { id, isError, reasoning, failure, agent, childTraces } = step
  const text = step.text?.value === answer ? undefined : step.text
  const [choice, choose] = useState<boolean>()
  // A step that fails while it is shown opens, unless the user has chosen.
  const isOpen = choice ?? failure !== undefined
  const hasBody = [text, reasoning, failure, agent, childTraces].some(part => part !== undefined)
  const toggle = hasBody ? () => choose(!isOpen) : undefined
  const isAgent = agent !== undefined || childTraces !== undefined
  return (
    <li class={`talk-step ${isError ? 'is-failed' : ''} ${isAgent ? 'is-agent' : ''}`}>
      <StepLine
        step={step}
        traceId={traceId}
        excerpt={text === undefined ? '' : String(text.value)}
        {...{ isOpen, toggle }}
      />
      {hasBody && isOpen && (
        <div class="fold-body">
          {failure !== undefined && <pre class="failure-text">{visibleValue(failure.value)}</pre>}
          {reasoning !== undefined && (
            <Fold summary={<span class="dim small">Reasoning</span>}>
              <LongMarkdown value={reasoning} traceId={traceId} spanId={id} />
            </Fold>
          )}
          {text !== undefined && <LongMarkdown value={text} traceId={traceId} spanId={id} />}
          {agent !== undefined && <Talk transcript={agent} traceId={traceId} />}
          {childTraces?.map(child => (
            <TurnTranscript key={child} traceId={child} />
          ))}
        </div>
      )}
    </li>
  )
}

interface StepLineProps extends Omit<StepProps, 'answer'> {
  readonly excerpt: string
  readonly isOpen: boolean
  /** Undefined if the step has nothing to open. */
  readonly toggle: (() => void) | undefined
}

function StepLine({ step, traceId, excerpt, isOpen, toggle }: StepLineProps): JSX.Element {
  const { id, kind, name, hint, attempt } = step
  const { input, output, cached, cost } = usageOf(step)
  const isRequest = kind === 'api' || kind === 'auxiliary'
  const detail = isRequest ? excerpt.slice(0, 300) : hint
  return (
    <span class="talk-line">
      {toggle === undefined ? (
        <span class="unfold" />
      ) : (
        <button
          type="button"
          class="unfold"
          aria-expanded={isOpen}
          aria-label={`Details of ${stepName(kind, name)}`}
          onClick={toggle}
        >
          {isOpen ? '▾' : '▸'}
        </button>
      )}
      <KindIcon kind={kind} />
      <span class="unseen">{kindName(kind)}</span>
      <Link class="one-line" to={{ view: 'turn', traceId, look: { span: id } }}>
        {stepName(kind, name)}
      </Link>
      {attempt !== undefined && <span class="chip attempt">{attempt}</span>}
      <span class="hint one-line" title={detail}>
        {visibleValue(detail)}
      </span>
      <span class="one-line">
        <StepOutcome step={step} />
      </span>
      <span class="talk-figures small dim">
        {input + output > 0 && (
          <span
            title={`${humanCount(input)} tokens in, ${humanCount(cached)} of them cached, ${humanCount(output)} out`}
          >
            {shortCount(input)} → {shortCount(output)}
          </span>
        )}
        {cost > 0 && <span>{humanCost(cost)}</span>}
        <span>
          {step.state === 'open' ? <Since at={step.startAt} /> : humanDuration(Math.max(0, step.endAt - step.startAt))}
        </span>
      </span>
    </span>
  )
}

interface StepUsage {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly cost: number
}

/** A child agent has used what its steps have used. */
function usageOf({ input = 0, output = 0, cached = 0, cost = 0, agent }: TranscriptStep): StepUsage {
  const own = { input, output, cached, cost }
  return (agent?.steps ?? []).map(usageOf).reduce(
    (sum, each) => ({
      input: sum.input + each.input,
      output: sum.output + each.output,
      cached: sum.cached + each.cached,
      cost: sum.cost + each.cost,
    }),
    own,
  )
}

/** Outcomes that every step has are not worth a word. */
const USUAL: ReadonlySet<string> = new Set(['completed', 'stop', 'tool_calls', 'end_turn', 'tool_use'])

function StepOutcome({ step }: Pick<StepProps, 'step'>): JSX.Element | null {
  const { kind, state, outcome, decidedBy } = step
  if (state === 'owner-dead') return <span class="tone-error">left open</span>
  if (state === 'open' && kind === 'approval') return <span class="tone-wait">waits for you</span>
  if (state === 'open') return <span class="tone-running">running</span>
  if (kind === 'approval') {
    return (
      <>
        <Outcome outcome={outcome} /> <span class="dim">by {decidedBy}, waited</span>
      </>
    )
  }
  return outcome === undefined || USUAL.has(outcome.text) ? null : <Outcome outcome={outcome} />
}

/** `read_file` -> `Read`, `web_search` -> `Web search`, `api.qwen3` -> `qwen3`. */
function stepName(kind: TranscriptStep['kind'], name: string): string {
  if (kind !== 'tool') return kind === 'approval' ? 'Approval' : name.replace(/^(api|subagent|skill)\./, '')
  if (name.includes('__')) return name
  const words = name
    .replace(/^tool\./, '')
    .replace(/_(file|tool)$/, '')
    .replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

interface FeedProps {
  readonly label: string
  /** Begins at the end, and follows it. */
  readonly isLive: boolean
  readonly children: ComponentChildren
}

/** The scrolling list of a transcript, with the newest at the bottom. */
export function Feed({ label, isLive, children }: FeedProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const { isAtEnd, jump } = useEnd(box, isLive)
  return (
    <>
      <div ref={box} class="feed" role="feed" aria-label={label}>
        {children}
      </div>
      {!isAtEnd && (
        <button type="button" class="jump" onClick={jump}>
          Jump to now ↓
        </button>
      )}
    </>
  )
}

const END_PIXELS = 60

interface End {
  readonly isAtEnd: boolean
  readonly jump: () => void
}

/** Keeps the end visible while content grows, unless the user has scrolled up. */
function useEnd(box: RefObject<HTMLElement>, isLive: boolean): End {
  const [isAtEnd, setAtEnd] = useState(true)
  const follows = useRef(isLive)
  const scroller = (): Element => box.current?.closest('.turn-page') ?? document.documentElement
  const jump = (): void => {
    follows.current = true
    scroller().scrollTop = scroller().scrollHeight
  }
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    let last = 0
    const look = (): void => {
      const { scrollTop, scrollHeight, clientHeight } = scroller()
      const isNow = scrollHeight - scrollTop - clientHeight < END_PIXELS
      if (isNow && scrollTop > last) follows.current = true
      else if (!isNow && scrollTop < last) follows.current = false
      last = scrollTop
      setAtEnd(isNow)
    }
    const observer = new ResizeObserver(() => {
      if (follows.current) jump()
      look()
    })
    observer.observe(element)
    document.addEventListener('scroll', look, { capture: true, passive: true })
    return () => {
      observer.disconnect()
      document.removeEventListener('scroll', look, { capture: true })
    }
  }, [])
  return { isAtEnd, jump }
}
