import type { JSX } from 'preact'
import { countOf, humanDuration } from '../../reading/human-figures.ts'
import type { LongValue, PromptDiff, SpanDetail, SpanRow, TraceView } from '../server/api.ts'
import { originOf } from './child-traces.ts'
import { CopyButton, Figure, Fold, isoOf, Notice, Outcome, Since, shortId, timeText } from './elements.tsx'
import { KindIcon, kindName } from './icons.tsx'
import { useLoaded } from './loading.ts'
import { Link } from './navigation.tsx'
import { type Content, type SpanStory, spanStory } from './span-story.ts'
import { ContentBlock, DiffText, ValueText, visibleValue } from './values.tsx'

interface PanelProps {
  readonly traceId: string
  readonly spanId: string
  readonly view: TraceView
  readonly close: () => void
  readonly show: (spanId: string) => void
}

export function SpanPanel({ traceId, spanId, view, close, show }: PanelProps): JSX.Element {
  const spanPath = `/api/traces/${encodeURIComponent(traceId)}/spans/${encodeURIComponent(spanId)}`
  const { value, problem } = useLoaded<SpanDetail>(spanPath, ids => ids.includes(traceId))
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') close()
  }
  return (
    <aside class="panel" aria-label="Span details" onKeyDown={onKey}>
      <button type="button" class="quiet close" aria-label="Close" onClick={close}>
        ✕
      </button>
      {value === undefined ? (
        <Notice tone={problem === undefined ? '' : 'failed'}>{problem ?? 'Loading …'}</Notice>
      ) : (
        <Details key={spanId} detail={value} path={spanPath} view={view} show={show} />
      )}
    </aside>
  )
}

interface DetailsProps extends Pick<PanelProps, 'view' | 'show'> {
  readonly detail: SpanDetail
  readonly path: string
}

function Details({ detail, path, view, show }: DetailsProps): JSX.Element {
  const { contents, groups, notices } = spanStory(detail)
  const isRequest = detail.prompt !== undefined
  return (
    <>
      <Head detail={detail} view={view} show={show} />
      {detail.failure !== undefined && (
        <section>
          <h3>Failed</h3>
          <pre class="failure-text">{visibleValue(detail.failure)}</pre>
        </section>
      )}
      {isRequest && <Request detail={detail} path={path} contents={contents} groups={groups} show={show} />}
      {notices.map(notice => (
        <Notice key={notice}>{notice}</Notice>
      ))}
      {contents
        .filter(({ label }) => !isRequest || !PROMPT_CONTENTS.has(label))
        .map(content => (
          <ContentBlock key={content.attribute} {...content} path={path} />
        ))}
      {groups.map(({ title, facts }) => (
        <section key={title} class="facts">
          <h3>{title}</h3>
          <dl>
            {facts.map(({ label, text }) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{visibleValue(text)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <Events detail={detail} path={path} />
      <Links {...detail} />
      <details class="raw">
        <summary>All attributes, as stored</summary>
        <Attributes attributes={detail.attributes} path={path} />
        <h3>Resource attributes</h3>
        <Attributes attributes={detail.resource} />
        <p class="small dim">
          recorded by {detail.scope}, {detail.otelKind}, status {detail.status}, trace {visibleValue(detail.traceId)},
          span {visibleValue(detail.id)}
        </p>
      </details>
    </>
  )
}

/** Contents that the view of a request arranges itself. */
const PROMPT_CONTENTS: ReadonlySet<string> = new Set(['Instructions', 'Input', 'Output'])
const REQUEST_FACTS = ['Input', 'Cached input', 'Output', 'Cost', 'Finish reason']

interface RequestProps extends Pick<DetailsProps, 'detail' | 'path' | 'show'>, Pick<SpanStory, 'contents' | 'groups'> {}

function Request({ detail, path, contents, groups, show }: RequestProps): JSX.Element | null {
  const { prompt } = detail
  if (prompt === undefined) return null
  const facts = groups.flatMap(group => group.facts).filter(({ label }) => REQUEST_FACTS.includes(label))
  const content = (label: string): Content | undefined => contents.find(each => each.label === label)
  const [answer, instructions, input] = [content('Output'), content('Instructions'), content('Input')]
  const { previousId, sameCount, freshCount, fresh } = prompt
  return (
    <>
      <dl class="figures">
        {facts.map(({ label, text }) => (
          <Figure key={label} label={LABELS[label] ?? label.toLowerCase()}>
            {visibleValue(text)}
          </Figure>
        ))}
      </dl>
      {answer !== undefined && <ContentBlock {...answer} label="Answer" path={path} />}
      {freshCount > 0 && (
        <ContentBlock
          label={previousId === undefined ? `Messages (${freshCount})` : `New since the last request (${freshCount})`}
          attribute={input?.attribute ?? ''}
          value={fresh}
        />
      )}
      {sameCount > 0 && input !== undefined && (
        <Fold summary={countOf(sameCount, 'earlier message')}>
          <ContentBlock
            {...input}
            label="Earlier messages"
            path={path}
            pick={all => all.filter(({ role }) => !instructions || role !== 'system').slice(0, sameCount)}
          />
        </Fold>
      )}
      {instructions !== undefined && (
        <Fold summary="Instructions">
          <ContentBlock {...instructions} path={path} />
        </Fold>
      )}
      {previousId !== undefined && (
        <Fold summary="Prompt compared with the last request">
          <PromptDifference path={path} />
          <button type="button" class="link" onClick={() => show(previousId)}>
            Show the last request
          </button>
        </Fold>
      )}
    </>
  )
}

const LABELS: Readonly<Record<string, string>> = { Input: 'tokens in', Output: 'tokens out' }

function PromptDifference({ path }: { readonly path: string }): JSX.Element {
  const { value, problem } = useLoaded<PromptDiff>(`${path}/prompt`)
  if (value === undefined) return <Notice tone={problem === undefined ? '' : 'failed'}>{problem ?? 'Loading …'}</Notice>
  const { lines, cutCount } = value
  if (lines.length === 0) return <p class="dim">No difference.</p>
  return <DiffText lines={lines} rest={cutCount === undefined ? '' : `… ${countOf(cutCount, 'line')} more`} />
}

function Head({ detail, view, show }: Omit<DetailsProps, 'path'>): JSX.Element {
  const { kind, name, startAt, endAt, state, outcome } = detail
  const parent = parentOf(detail, view)
  return (
    <header>
      <p class="small dim kind-line">
        <KindIcon kind={kind} /> {kindName(kind)}
      </p>
      <h2>{name}</h2>
      <p>
        {state === 'ended' && humanDuration(Math.max(0, endAt - startAt))}
        {state === 'open' && (
          <span class="badge is-running">
            open for <Since at={startAt} />
          </span>
        )}
        {state === 'owner-dead' && <span class="badge is-owner-dead">open; process exited</span>}{' '}
        <Outcome outcome={outcome} />
      </p>
      <p class="small dim">
        <time dateTime={isoOf(startAt)}>{timeText(startAt)}</time>, {humanDuration(Math.max(0, startAt - view.startAt))}{' '}
        into the turn
        {parent !== undefined && (
          <>
            {' · child of '}
            <button type="button" class="link" onClick={() => show(parent.id)}>
              {parent.name}
            </button>
          </>
        )}
        {' · '}
        <CopyButton text={location.href} label="Copy a link to this span" /> link
      </p>
    </header>
  )
}

/** Finds the row of the parent. Inserted rows have prefixed ids, so origins are compared. */
function parentOf({ traceId, parentId }: SpanDetail, view: TraceView): SpanRow | undefined {
  if (parentId === undefined) return undefined
  return view.rows.find(row => {
    const origin = originOf(row, view)
    return origin.spanId === parentId && origin.traceId === traceId
  })
}

function Events({ detail: { events, startAt }, path }: Pick<DetailsProps, 'detail' | 'path'>): JSX.Element | null {
  if (events.length === 0) return null
  return (
    <section>
      <h3>Events</h3>
      <ol class="events">
        {events.map((event, index) => (
          <li key={`${index} ${event.name}`}>
            <span class="dim">after {humanDuration(Math.max(0, event.at - startAt))}</span> {event.name}
            <Attributes attributes={event.attributes} path={path} isPartial />
          </li>
        ))}
      </ol>
    </section>
  )
}

function Links({ links, namespace }: Pick<SpanDetail, 'links' | 'namespace'>): JSX.Element | null {
  if (links.length === 0) return null
  return (
    <section>
      <h3>Links</h3>
      <ul class="links">
        {links.map(({ traceId, spanId, attributes, isHere }) => {
          const what = String(attributes[`${namespace}.link`]?.value ?? 'another span').replaceAll('_', ' ')
          const text = `${visibleValue(what)}: ${shortId(visibleValue(traceId))}`
          return (
            <li key={`${traceId} ${spanId}`}>
              {isHere ? (
                <Link to={{ view: 'turn', traceId, look: { span: spanId } }}>{text}</Link>
              ) : (
                `${text} (not in this log)`
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

interface AttributesProps {
  readonly attributes: Readonly<Record<string, LongValue>>
  readonly path?: string
  readonly isPartial?: boolean
}

function Attributes({ attributes, path, isPartial = false }: AttributesProps): JSX.Element {
  const names = Object.keys(attributes).sort()
  return (
    <dl class="attributes">
      {names.map(name => {
        const value = attributes[name]
        return (
          value !== undefined && (
            <div key={name}>
              <dt>{visibleValue(name)}</dt>
              <dd>
                <ValueText value={value} attribute={name} path={isPartial ? undefined : path} />
              </dd>
            </div>
          )
        )
      })}
    </dl>
  )
}
