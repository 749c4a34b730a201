// @ts-check
// What pictures made in Python and in the browser share. Python reads it too (draw/_tables.py), as
// JSON from the first brace on.
export const TABLES = {
  "wordsMax": 120,
  "partsMax": 20000,
  "size": 15,
  "small": 12,
  "margin": 4,
  "gap": 13,
  "font": "Helvetica, Arial, 'Liberation Sans', sans-serif",
  "faint": 0.55,
  "arrow": 6.5,
  "radius": 9,
  "colours": { "plain": "currentColor", "faint": "currentColor", "agree": "#2a7fc9", "differ": "#d5601c" },
  "widths": {
    "191": "'", "222": "ijl", "260": "|", "278": " !,./:;I[\\]ft", "334": "()-`r{}", "355": "\"",
    "389": "*", "469": "^", "500": "cksvxyzJ", "556": "0123456789abdeghnopqu#$?_L", "584": "+<=>~",
    "611": "FTZ", "667": "ABEKPSVXY&", "722": "CDHNRUw", "778": "GOQ", "833": "Mm", "889": "%",
    "944": "W", "1000": "→…", "1015": "@"
  },
  "latex": {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "$": "\\$", "&": "\\symbol{38}", "#": "\\#",
    "%": "\\%", "_": "\\_", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}",
    "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}"
  },
  "tikzColours": "\\definecolor{sparsewoodagree}{HTML}{2A7FC9}\n\\definecolor{sparsewooddiffer}{HTML}{D5601C}",
  "tikzStyles": { "plain": "", "faint": "opacity=.55", "agree": "sparsewoodagree", "differ": "sparsewooddiffer" }
};
