# SPDX-License-Identifier: Apache-2.0
# A plane seen at 75 degrees from several directions, and turned: match --tilts finds it to 3 px, refined points too.
source "$(dirname "$0")/scene.inc"
source "$(dirname "$0")/common.inc"
leaves flat.pgm 480 360 11

# tilted PHI PSI: twelve numbers, the map from the picture to the plane (leaves), and then its inverse without the last
# row. The plane is narrowed to cos 75 degrees along the direction PHI, then turned by PSI degrees; its middle is that of
# the picture, 440 x 440.
tilted() {
    awk -v phi="$1" -v psi="$2" 'BEGIN {
        d = atan2(0, -1) / 180; k = cos(75 * d); c = cos(phi * d); s = sin(phi * d); p = cos(psi * d); q = sin(psi * d)
        a = p * k * c + q * s; b = p * k * s - q * c; e = q * k * c - p * s; f = q * k * s + p * c
        x = 219.5 - a * 239.5 - b * 179.5; y = 219.5 - e * 239.5 - f * 179.5; det = a * f - b * e
        printf "%.9g %.9g %.9g %.9g %.9g %.9g 0 0 1 ", f / det, -b / det, (b * y - f * x) / det, -e / det, a / det, (e * x - a * y) / det
        printf "%.9g %.9g %.9g %.9g %.9g %.9g\n", a, b, x, e, f, y }'
}

for direction in 15 50 85 120 155; do
    read -r -a m <<<"$(tilted $direction $((2 * direction)))"
    leaves tilted.pgm 480 360 11 "${m[*]:0:9}" 440 440
    for how in "" --refine; do
        run "$KEYBITS" match flat.pgm tilted.pgm -m bag256 --tilts 3 -n 1500 $how --json >tilts.json
        holds tilts.json '"result": "found"'
        awk -v truth="${m[*]:9}" '
            /"model": \[/ { n = 0; inside = 1; next } inside && /\]/ { inside = 0 } inside { gsub(/[ ,]/, ""); h[++n] = $0 }
            END { split(truth, t, " ")
                for (k = 0; k < 4; k++) { x = 479 * (k % 2); y = 359 * int(k / 2); w = h[7] * x + h[8] * y + h[9]
                    u = (h[1] * x + h[2] * y + h[3]) / w - (t[1] * x + t[2] * y + t[3])
                    v = (h[4] * x + h[5] * y + h[6]) / w - (t[4] * x + t[5] * y + t[6])
                    if (u ^ 2 + v ^ 2 > 9) { print "corner " x "," y " is off by " u "," v; exit 1 } } }' tilts.json ||
            fail "seen from direction $direction $how"
    done
done
