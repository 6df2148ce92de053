/* How the report looks: one column of text, tables that scroll sideways on a phone, light and dark. */
#ifndef EVAL_REPORT_STYLE_H
#define EVAL_REPORT_STYLE_H

static const char ev_report_style[] =
    ":root{--ink:#1c2227;--soft:#5c6770;--line:#d8dee3;--paper:#fff;--tint:#f3f6f8;--good:#0b6b3a}\n"
    "@media(prefers-color-scheme:dark){\n"
    ":root{--ink:#e6eaed;--soft:#9aa6af;--line:#37424a;--paper:#14191d;--tint:#1d242a;--good:#5fd39a}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:1080px;margin:0 auto;padding:1rem 1rem 4rem}\n"
    "h1{font-size:1.7rem;margin:1rem 0}\n"
    "h2{font-size:1.2rem;margin:2.2rem 0 .4rem;border-top:1px solid var(--line);padding-top:1rem}\n"
    "p{color:var(--soft);max-width:46rem;margin:.3rem 0 .8rem}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}\n"
    "th,td{padding:.28rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}\n"
    "thead th{color:var(--soft);font-weight:600;vertical-align:bottom;white-space:normal}\n"
    "tbody th,thead th:first-child,td:first-child{text-align:left}\n"
    "tbody th{font-weight:500}\n"
    "tr>th:first-child{position:sticky;left:0;background:var(--paper)}\n"
    "tbody tr:hover,tbody tr:hover th{background:var(--tint)}\n"
    ".best{color:var(--good);font-weight:700}\n"
    ".paper{color:var(--soft);font-style:italic}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:1rem;margin:1rem 0}\n"
    "figure{margin:0;max-width:640px}\n"
    "svg{width:100%;height:auto;display:block}\n"
    "svg text{fill:currentColor;font:12px system-ui,sans-serif}\n"
    "svg .axis{fill:var(--soft)}\n"
    "svg text.key{font-weight:600;stroke:var(--paper);stroke-width:4px;paint-order:stroke}\n"
    "svg .grid{stroke:var(--line)}\n"
    "figcaption{color:var(--soft);font-size:.88rem;text-align:center}\n"
    "details{margin:.8rem 0}\n"
    "summary{cursor:pointer;color:var(--soft)}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}\n"
    "dt{color:var(--soft)}\n"
    "dd{margin:0;overflow-wrap:anywhere}\n"
    "@media(max-width:600px){svg text{font-size:13.5px}th,td{padding:.28rem .5rem}}\n"
    "@media print{.scroll{overflow:visible}section{break-inside:avoid}}\n";

#endif
