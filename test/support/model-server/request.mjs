import { chatItems } from './chat.mjs'
import { bare } from './host-texts.mjs'
import { messagesItems } from './messages.mjs'
import { responsesItems } from './responses.mjs'

const ITEMS = { chat: chatItems, responses: responsesItems, messages: messagesItems }

/**
 * A request in any of the three protocols as one shape. `items` is the conversation: `system`, `user`, `answer` and
 * `result` (of a tool), in order; a message with several parts gives several items.
 */
export function normalise(api, body) {
  const items = ITEMS[api](body)
    .map(said)
    .filter(({ kind, text }) => kind !== 'user' || text !== '')
  const at = promptIndex(items)
  const results = items.slice(at + 1).filter(({ kind }) => kind === 'result')
  return {
    api,
    model: body.model ?? '',
    stream: body.stream === true,
    tools: (body.tools ?? []).map(tool => tool.function?.name ?? tool.name ?? tool.type),
    system: textOf(items, 'system'),
    prompt: at < 0 ? '' : promptText(items, at),
    toolResults: results.length,
    lastToolResults: unansweredResults(items).map(({ id, text }) => ({ id, text })),
    items,
  }
}

/**
 * What a conversation that has come so far is known by. Not by its messages: a host that tries again may repeat some, or
 * add to them. Tools are part of it, because the small request for a title has the same prompt and none.
 */
export function stateOf({ api, model, tools, prompt, items }) {
  const answers = items.filter(({ kind }) => kind === 'answer').length
  const results = items.filter(({ kind }) => kind === 'result').map(({ id }) => id)
  return JSON.stringify([api, model, tools, prompt, answers, results])
}

function said(item) {
  return item.kind === 'user' ? { ...item, text: bare(item.text) } : item
}

/**
 * Where the prompt stands that is being worked on: the last thing that the user said, unless it follows tool results
 * that have not been answered. There a host has added it, so that the model does not forget something.
 */
function promptIndex(items) {
  return items.findLastIndex(({ kind }, index) => kind === 'user' && !followsResults(items, index))
}

function followsResults(items, index) {
  const before = items.findLast(({ kind }, at) => at < index && kind !== 'user' && kind !== 'system')
  return before?.kind === 'result'
}

/** Parts of one message are one prompt; of several messages in a row the last is. */
function promptText(items, at) {
  const { message } = items[at]
  return items
    .filter(item => item.kind === 'user' && item.message === message)
    .map(({ text }) => text)
    .join('\n')
}

function textOf(items, kind) {
  return items
    .filter(item => item.kind === kind)
    .map(({ text }) => text)
    .join('\n')
}

function unansweredResults(items) {
  const answered = items.findLastIndex(({ kind }) => kind === 'answer')
  return items.slice(answered + 1).filter(({ kind }) => kind === 'result')
}
