/** What `colours.css` says of itself: readable by day and by night. */
import { describe, expect, test } from 'vitest'
import { exportHtml } from '../../../src/reading/export-html.ts'
import { read } from '../../support/pages.ts'

const css = read('src/viewer/page/colours.css')
const COLOUR = /--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g
const colours = [...css.matchAll(COLOUR)]
const day = Object.fromEntries(colours.map(([, name = '', light = '']) => [name, light]))
const night = Object.fromEntries(colours.map(([, name = '', , dark = '']) => [name, dark]))

/** Relative luminance, by WCAG 2.2. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

describe.each([
  ['by day', day],
  ['by night', night],
])('%s', (_, colours) => {
  const on = (name: string, ground: string): number => contrast(colours[name] ?? '', colours[ground] ?? '')

  test.each(['text', 'dim', 'link', 'ok', 'warn', 'error', 'running', 'wait-text'])('is readable as text: %s', name => {
    for (const ground of ['page', 'card', 'soft']) expect(on(name, ground), ground).toBeGreaterThanOrEqual(4.5)
  })

  test('is readable in a mark: text', () => {
    expect(on('text', 'mark')).toBeGreaterThanOrEqual(4.5)
  })

  test.each(Object.keys(day).filter(name => /^kind-/.test(name)))('is visible as a bar: %s', name => {
    for (const ground of ['page', 'card']) expect(on(name, ground), ground).toBeGreaterThanOrEqual(3)
  })
})

test('has every colour for both schemes', () => {
  expect(colours.length).toBeGreaterThan(20)
  expect(css.replaceAll(COLOUR, '')).not.toMatch(/#[0-9a-f]{3}/)
})

test('are the colours of the kinds in an export, too', () => {
  const page = [...exportHtml([], 0)].join('')
  const kinds = Object.keys(day).filter(name => name.startsWith('kind-'))
  expect(kinds.length).toBe(10)
  for (const name of kinds) {
    for (const colour of [day[name], night[name]]) expect(page).toContain(`--${name.slice('kind-'.length)}:${colour}`)
  }
})

test('have no colour of a bar for text, except that of keys', () => {
  for (const name of ['page', 'panel', 'turn']) {
    const texts = [...read(`src/viewer/page/${name}.css`).matchAll(/^ {2}color: var\(--kind-(\w+)\)/gm)]
    expect(texts.map(([, kind]) => kind).filter(kind => kind !== 'api')).toEqual([])
  }
})
