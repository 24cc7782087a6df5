import type { JSX } from 'preact'
import { humanDuration } from '../../reading/human-figures.ts'
import type { LongValue, SpanDetail, SpanRow, TraceView } from '../server/api.ts'
import { originOf } from './child-traces.ts'
import { CopyButton, isoOf, Notice, Outcome, Since, shortId, timeText } from './elements.tsx'
import { KindIcon, kindName } from './icons.tsx'
import { useLoaded } from './loading.ts'
import { Link } from './navigation.tsx'
import { spanStory } from './span-story.ts'
import { ContentBlock, ValueText, visibleValue } from './values.tsx'

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
  return (
    <>
      <Head detail={detail} view={view} show={show} />
      {notices.map(notice => (
        <Notice key={notice}>{notice}</Notice>
      ))}
      {contents.map(({ label, attribute, value }) => (
        <ContentBlock key={attribute} label={label} attribute={attribute} value={value} path={path} />
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
