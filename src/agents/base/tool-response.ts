import { isArray, peek } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { isAllText, wholeText, withText } from './content-text.ts'

interface Shape {
  read(response: unknown): string | undefined
  write(response: unknown, text: string): unknown
}

const SHAPES: readonly Shape[] = [
  { read: response => (typeof response === 'string' ? response : undefined), write: (_, text) => text },
  { read: response => (isArray(response) && isAllText(response) ? wholeText(response) : undefined), write: withText },
  {
    // Shells: the model receives both streams.
    read: response => {
      const [out, error] = [peek(response, 'stdout'), peek(response, 'stderr')]
      if (typeof out !== 'string' || typeof error !== 'string') return undefined
      return error === '' ? out : `${out}\n${error}`
    },
    write: (response, stdout) => ({ ...(response as object), stdout, stderr: '' }),
  },
  {
    read: response => {
      const text = peek(peek(response, 'file'), 'content')
      return typeof text === 'string' && peek(response, 'type') === 'text' ? text : undefined
    },
    write: (response, content) => ({
      ...(response as object),
      file: { ...(peek(response, 'file') as object), content },
    }),
  },
  {
    read: response => {
      const content = peek(response, 'content')
      return isAllText(content) ? wholeText(content) : undefined
    },
    write: (response, text) => {
      const content = peek(response, 'content')
      return { ...(response as object), content: typeof content === 'string' ? text : withText(content, text) }
    },
  },
]

export function resultText(response: unknown): unknown {
  return shapeOf(response)?.read(response) ?? response
}

/**
 * Builds a response in the shape of the tool. Claude Code ignores any other shape, and the model receives the original response.
 */
export function resultInShape(response: unknown, value: unknown): unknown {
  const shape = shapeOf(response)
  return shape === undefined || typeof value !== 'string' ? plainCopy(value) : shape.write(response, value)
}

export function hasKnownShape(response: unknown): boolean {
  return shapeOf(response) !== undefined
}

function shapeOf(response: unknown): Shape | undefined {
  return SHAPES.find(({ read }) => read(response) !== undefined)
}
