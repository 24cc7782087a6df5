export const ABLE = {}
