import { KEY_NAMES, KEY_ROWS } from '../config/keys.ts'

const WIDTH = 80
const INDENT = '      '

/** Every key with what it is about, in the words of the documentation; no line is wider than a terminal. */
export function keyHelp(): string {
  return KEY_NAMES.map(key => `  ${key}\n${wrapped(KEY_ROWS[key].about)}`).join('')
}

function wrapped(text: string): string {
  const lines = [INDENT]
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)}${lines.at(-1) === INDENT ? '' : ' '}${word}`
    if (line.length <= WIDTH) lines.splice(-1, 1, line)
    else lines.push(INDENT + word)
  }
  return `${lines.join('\n')}\n`
}
