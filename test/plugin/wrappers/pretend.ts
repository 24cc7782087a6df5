export const MODEL = { model: 'qwen3', provider: 'ollama' }

/** What a chat model answers. */
export function answering(text: string, ...calls: object[]): object {
  const message = { role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls: calls }) }
  return {
    id: 'chatcmpl-1',
    model: 'qwen3-30b',
    choices: [{ message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 120, completion_tokens: 9 },
  }
}

/** Something that ends when the test says so. */
export function later<Value = void>(): {
  promise: Promise<Value>
  resolve: (value: Value) => void
  reject: (error: unknown) => void
} {
  let [resolve, reject]: [(value: Value) => void, (error: unknown) => void] = [() => {}, () => {}]
  const promise = new Promise<Value>((resolved, rejected) => {
    ;[resolve, reject] = [resolved, rejected]
  })
  return { promise, resolve, reject }
}

export function named(name: string): Error {
  return Object.assign(new Error(`it was ${name}`), { name })
}
