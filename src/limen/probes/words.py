"""Common English names, nouns and cities: the keys and values of the tasks."""

NAMES = tuple(
    """
    Alice Bob Carol David Emma Frank Grace Henry Ivan Jack Karen Leo Mary Nancy Oscar Paul Quinn Rachel Sam
    Tom Ursula Victor Wendy Zoe Anna Brian Clara Daniel Eric Fiona George Helen Isaac James Kevin Laura Mark
    Nora Oliver Peter Robert Sarah Tim Vera William Adam Ben Charles Diana Edward Fred Gary Hannah Ian John
    Kate Lucy Martin Neil Olivia Patrick Richard Simon Tony Walter Amy Andrew Arthur Barbara Betty Bruce
    Carl Chris Cindy Dan Dennis Donald Doris Elizabeth Evan Felix Gordon Harold Howard Jacob Jane Jason Jeff
    Jennifer Jessica Jim Joe Joan Joseph Julia Justin Keith Ken Larry Lewis Linda Lisa Louis Luke Margaret
    Maria Matthew Max Michael Michelle Mike Nathan Nicholas Noah Pamela Philip Rebecca Roger Ron Roy Ruth
    Ryan Samuel Sandra Scott Sean Sophia Stephen Steve Susan Theodore Thomas Tyler Vincent Wayne Alex Alan
    Albert Anthony Benjamin Catherine Christopher Ella Emily Eva Hugh Lily Marie Mia Stuart Terry
    """.split()  # noqa: SIM905
)
NOUNS = tuple(
    """
    apple bread chair drum eagle fish garden hat island jacket key lamp mirror needle ocean pencil queen
    river salt table umbrella violin window yarn zebra arrow basket candle desk egg feather guitar hammer
    ink jewel kite ladder moon nest orange paper ring ship tree van wheel book cup dog engine flag glass
    horse iron knife lemon map net onion piano rabbit snake tiger train wolf bear bell bird boat bone box
    bridge brush bus butter button cake camera car card cat cheese clock cloud coat coin corn cow crown
    diamond doll door duck dust fan farm fence fire flower fork fox frog gate ghost goat gold grape grass
    gun heart hill honey horn house ice jar lion lock milk monkey mouse mud nail nut oil owl paint pear pig
    pipe plate pot rain rice road robot rock roof rope sand seed sheep shell shoe silver smoke snow soap
    sock spider spoon star stone sugar sun sword tent tower toy truck water wave wine wood
    """.split()  # noqa: SIM905
)
CITIES = tuple(
    """
    London Paris Berlin Madrid Rome Vienna Dublin Moscow Tokyo Beijing Delhi Cairo Boston Chicago Seattle
    Denver Dallas Houston Atlanta Miami Toronto Sydney Melbourne Athens Amsterdam Brussels Warsaw Prague
    Budapest Stockholm Helsinki Oslo Lisbon Jakarta Bangkok Manila Seoul Baghdad Damascus Jerusalem Istanbul
    Mumbai Singapore Detroit Portland Phoenix Philadelphia Baltimore Austin Orlando Cleveland Pittsburgh
    Manchester Liverpool Birmingham Oxford Cambridge Edinburgh Glasgow Munich Hamburg Milan Venice Florence
    Naples Barcelona Geneva Lima Havana
    """.split()  # noqa: SIM905
)
