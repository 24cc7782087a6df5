import type { JSX } from 'preact'
import { humanCost, humanDuration } from '../../reading/human-figures.ts'
import type { SessionRow } from '../server/api.ts'
import { Link } from './navigation.tsx'
import { Ago, shortId } from './pieces.tsx'
import { countOf, shortCount } from './words.ts'

export function SessionTable({ rows }: { readonly rows: readonly SessionRow[] }): JSX.Element {
  return (
    <table class="list sessions">
      <thead>
        <tr>
          <th scope="col">Session</th>
          <th scope="col">Agent</th>
          <th scope="col" class="number">
            Turns
          </th>
          <th scope="col" class="number">
            Tokens
          </th>
          <th scope="col" class="number">
            Cost
          </th>
          <th scope="col" class="number">
            Waited
          </th>
          <th scope="col" class="number">
            Errors
          </th>
          <th scope="col" class="number">
            Last
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <Row key={row.id} row={row} />
        ))}
      </tbody>
    </table>
  )
}

function Title({ row }: { readonly row: SessionRow }): JSX.Element {
  const { id, title, state, isWaitingForPerson, match } = row
  return (
    <td class="title">
      <Link to={{ view: 'session', id }}>{title || `Session ${shortId(id)}`}</Link>
      {isWaitingForPerson && <span class="badge is-waiting">waiting for approval</span>}
      {state === 'open' && !isWaitingForPerson && <span class="badge is-running">open</span>}
      {state === 'owner-dead' && <span class="badge is-owner-dead">process exited</span>}
      {match !== undefined && (
        <Link class="match small" to={{ view: 'turn', traceId: match.traceId, look: { span: match.spanId } }}>
          {match.excerpt || 'here'}
        </Link>
      )}
    </td>
  )
}

function Row({ row }: { readonly row: SessionRow }): JSX.Element {
  const { agent, model, turnCount, tokens, cost, waitedMillis, errorCount } = row
  const { input = 0, output = 0 } = tokens ?? {}
  return (
    <tr>
      <Title row={row} />
      <td>
        {agent} <span class="dim small">{model}</span>
      </td>
      <td class="number" data-label={turnCount === 1 ? 'turn' : 'turns'}>
        {turnCount}
      </td>
      <td class="number" data-label="tokens" title={`${countOf(input, 'token')} in, ${countOf(output, 'token')} out`}>
        {input + output === 0 ? '' : shortCount(input + output)}
      </td>
      <td class="number" data-label="cost">
        {cost.paidCount === 0 ? '' : humanCost(cost.dollars)}
      </td>
      <td class="number" data-label="waiting">
        {waitedMillis === 0 ? '' : humanDuration(waitedMillis)}
      </td>
      <td class={`number ${errorCount > 0 ? 'tone-error' : ''}`} data-label={errorCount === 1 ? 'error' : 'errors'}>
        {errorCount === 0 ? '' : errorCount}
      </td>
      <td class="number">
        <Ago at={row.lastAt} />
      </td>
    </tr>
  )
}
